-- kp_mend and kp_repair -------------------------------------------------------------------------------------

-- Redis can apply a write in part when it loads an append-only file that was cut within the transaction: then a sample
-- is stored that no row counts, that never expires, and whose minute may be stored again from a candle. A row can
-- be lost, and a member can be changed by hand.

-- Whether more is stored of a day than its row counts.
local function is_uncounted(symbol, day)
  local row = read_row(symbol, date_of_day(day))
  return stored_count(symbol, day) > (row and row.samples or 0)
end

-- Gives an expiry to the hours of a day that lack one, and to all of them that of a longer retention.
local function expire_hours(symbol, day, expiry)
  for hour = day * 24, day * 24 + 23 do
    for _, kind in ipairs({ 'samples', 'settled' }) do
      for _, condition in ipairs({ 'NX', 'GT' }) do
        redis.call('EXPIREAT', hour_key(kind, symbol, hour), expiry, condition)
      end
    end
  end
end

-- Removes the members of a day that cannot be used, and makes its row the fold of the others. The row of a frozen day
-- stays: it counts samples that were lost. Returns how many members were removed, and 1 when the row has changed.
local function mend_day(symbol, day, retention_days)
  local key, date = daily_key(symbol), date_of_day(day)
  if redis_seconds() >= expiry_of(day, retention_days) then return { 0, 0 } end
  local text, count = redis.call('HGET', key, date), stored_count(symbol, day)
  local old, row, odd = parse_row(text), fold_stored(symbol, day)
  for _, each in ipairs(odd) do redis.call('ZREM', each.key, each.member) end
  expire_hours(symbol, day, expiry_of(day, retention_days))
  local mended = row and format_row(row) or false
  if mended == text or old and count < old.samples then return { #odd, 0 } end
  if mended then redis.call('HSET', key, date, mended) else redis.call('HDEL', key, date) end
  if day ~= today() then raise_revision(symbol) end
  return { #odd, 1 }
end

local function mend_if_uncounted(symbol, day, retention_days)
  if not is_uncounted(symbol, day) then return false end
  mend_day(symbol, day, retention_days)
  return true
end

local MEND_COMMANDS = 'HGET HDEL ZCARD ZRANGE ZREM EXPIREAT'

-- Arguments: symbol. Mends the first kept day of which more is stored than its row counts. Reply: its date, if any.
local function read_coin(reader)
  require_type(REVISIONS, 'hash')
  return reader.symbol()
end

register_writing('kp_mend', MEND_COMMANDS, read_coin, function(symbol, retention_days)
  for day = today() - retention_days, today() do
    if unless_damaged(mend_if_uncounted, symbol, day, retention_days) == true then return { date_of_day(day) } end
  end
  return {}
end)

-- Once a minute, ingesters of 1.0.0 name no day, and call again until the reply is empty. Looks at one day of all
-- coins, another in each minute. Reply: {'symbol date'}* of a day that was mended.
local function mend_any(retention_days)
  local day = today() - math.floor(redis_seconds() / 60) % (retention_days + 1)
  for symbol in each_pair(redis.call('HGETALL', COINS)) do
    if unless_damaged(mend_if_uncounted, symbol, day, retention_days) == true then
      return { symbol .. ' ' .. date_of_day(day) }
    end
  end
  return {}
end

-- Arguments: [symbol date]. Mends a kept day, whatever is wrong with it. Reply: how many members were removed, and 1
-- when its row has changed.
local function read_named_day(reader)
  require_type(REVISIONS, 'hash')
  if not reader.has_more() then return {} end
  return { symbol = reader.symbol(), day = reader.day() }
end

register_writing('kp_repair', MEND_COMMANDS .. ' HGETALL', read_named_day, function(named, retention_days)
  if not named.symbol then return mend_any(retention_days) end
  return mend_day(named.symbol, named.day, retention_days)
end)
