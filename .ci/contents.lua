-- Every sample and day whose key or date is not the one given, as one figure: how many keys, and their digest.
local all, today = {}, ARGV[1]
for _, key in ipairs(redis.call('KEYS', '{kp}:[sd]a*')) do
  local is_hash = redis.call('TYPE', key).ok == 'hash'
  local read = is_hash and redis.call('HGETALL', key) or redis.call('ZRANGE', key, 0, -1)
  for index = is_hash and #read - 1 or 0, 1, -2 do
    if read[index] == today then
      table.remove(read, index)
      table.remove(read, index)
    end
  end
  table.sort(read)
  if not string.find(key, (string.gsub(today, '-', '')), 1, true) then all[#all + 1] = key .. table.concat(read) end
end
table.sort(all)
return #all .. ' ' .. redis.sha1hex(table.concat(all))
