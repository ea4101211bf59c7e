-- Reading ---------------------------------------------------------------------------------------------------

-- Everything a replica needs once per minute. Reply: prices, layout, {symbol coin}*, {symbol live row}*, today's
-- date, {symbol today's row}*, {symbol revision}*, the newest minute
register_reading('kp_read', function()
  local date = date_of_day(today())
  local meta = redis.call('HMGET', META, 'prices', 'layout')
  local coins, rows = redis.call('HGETALL', COINS), {}
  for symbol in each_pair(coins) do
    -- A key that is no hash must not hide the other coins: the reader counts its row as unreadable.
    local row = redis.pcall('HGET', daily_key(symbol), date)
    if row then append(rows, symbol, type(row) == 'string' and row or '') end
  end
  return {
    meta[1] or '', meta[2] or '', coins, redis.call('HGETALL', LIVE), date, rows,
    redis.call('HGETALL', REVISIONS), hash_number(META, 'newest') or 0,
  }
end)

local function hash_of(key)
  local fields = {}
  for field, value in each_pair(redis.call('HGETALL', key)) do fields[field] = value end
  return fields
end

-- The names of a hash's fields in order, and the hash.
local function sorted_hash(key)
  local names, fields = {}, hash_of(key)
  for name in pairs(fields) do names[#names + 1] = name end
  table.sort(names)
  return names, fields
end

-- Argument: symbol. Reply: {date row}*, ascending.
register_reading('kp_days', function(reader)
  local dates, rows = sorted_hash(daily_key(reader.symbol()))
  local reply = {}
  for _, date in ipairs(dates) do append(reply, date, rows[date]) end
  return reply
end)

-- Arguments: symbol fromMinute toMinute (not included), at most five days. Reply: {minute member}*, ascending.
register_reading('kp_members', function(reader)
  local symbol = reader.symbol()
  local from, to = reader.span(MAX_MEMBERS)
  local reply = {}
  each_member(symbol, from, to, function(minute, member) append(reply, minute, member) end)
  return reply
end)

-- Returns the minute before which kp_write refuses every minute of a day: those are not open.
local function refused_until(symbol, day, retention_days)
  if retention_days and redis_seconds() >= expiry_of(day, retention_days) then return (day + 1) * DAY_MINUTES end
  local row = read_row(symbol, date_of_day(day))
  if row and stored_count(symbol, day) < row.samples then return row.last + 1 end
  return 0
end

-- By minute of an hour: 'stored', or the reason for which it is settled.
local function known_minutes(symbol, hour)
  local known = {}
  for _, kind in ipairs({ 'samples', 'settled' }) do
    for member, score in each_pair(redis.call('ZRANGE', hour_key(kind, symbol, hour), 0, -1, 'WITHSCORES')) do
      local minute, reason = tonumber(score), string.match(member, '^%d+ (.+)$') or 'settled, no reason can be read'
      known[minute] = kind == 'samples' and 'stored' or known[minute] or reason
    end
  end
  return known
end

local REFUSED = 'stays: the day is frozen or no longer kept'

local function add_to_gaps(gaps, minute, reason)
  local last = gaps[#gaps]
  if last and last.past == minute and last.reason == reason then
    last.past = minute + 1
  elseif reason ~= 'stored' then
    gaps[#gaps + 1] = { first = minute, past = minute + 1, reason = reason }
  end
end

-- The minutes without a sample as ranges {first past reason}*: 'open', REFUSED, or why they are settled. Those that
-- were settled for a reason of reopened count as open. A whole hour costs only a ZCARD.
local function gaps_of(symbol, from, to, reopened)
  local gaps, refused, retention_days = {}, {}, known_retention()
  for hour = hour_of(from), hour_of(to - 1) do
    local day = math.floor(hour / 24)
    refused[day] = refused[day] or refused_until(symbol, day, retention_days)
    if redis.call('ZCARD', hour_key('samples', symbol, hour)) ~= 60 then
      local known = known_minutes(symbol, hour)
      for minute = math.max(from, hour * 60), math.min(to, hour * 60 + 60) - 1 do
        local reason = known[minute]
        if not reason or reopened[reason] then reason = minute < refused[day] and REFUSED or 'open' end
        add_to_gaps(gaps, minute, reason)
      end
    end
  end
  return gaps
end

-- Arguments: symbol fromMinute toMinute (not included), and for kp_open {reason}* that settle no minute. Reply:
-- {start end}*, the ranges of open minutes, the end not included: neither stored nor settled, and kp_write would store
-- them. A coin with a damaged key has none.
local function read_open(reader)
  local symbol = reader.symbol()
  local from, to = reader.span(MAX_SPAN)
  local reasons, ranges = {}, {}
  for _, reason in ipairs(reader.has_more() and reader.list('reasons', reader.text) or {}) do reasons[reason] = true end
  local gaps = unless_damaged(gaps_of, symbol, from, to, reasons)
  for _, gap in ipairs(gaps == 'damaged' and {} or gaps) do
    if gap.reason == 'open' then append(ranges, gap.first, gap.past) end
  end
  return ranges
end

register_reading('kp_open', read_open)
-- For ingesters that do not know kp_open.
register_reading('kp_missing', read_open)

-- Reply: INFO memory of the server that holds these keys, whichever that is on a Cluster.
register_reading('kp_memory', function() return redis.call('INFO', 'memory') end)
