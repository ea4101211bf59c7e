-- kp_mend_days ----------------------------------------------------------------------------------------------

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

-- Folds a day of which more is stored than its row counts, or whose turn it is. Returns 'mended' when it was wrong,
-- 'folded' when it was not, and 'counted' where counting was enough.
local function mend_if_due(symbol, day, retention_days, is_turn)
  if not is_turn and not is_uncounted(symbol, day) then return 'counted' end
  local changes = mend_day(symbol, day, retention_days)
  return changes[1] + changes[2] > 0 and 'mended' or 'folded'
end

local MEND_COMMANDS = 'HGET HDEL ZCARD ZRANGE ZREM EXPIREAT'
-- A call folds so many days: each takes some 10 ms.
local FOLDED_DAYS = 2

-- Mends the days of a coin from one date on. Returns the dates of those that were wrong, and the date to go on with, if
-- that was not all.
local function mend_days(symbol, turn, turns, from, retention_days)
  require_type(REVISIONS, 'hash')
  local dates, left = {}, FOLDED_DAYS
  for day = math.max(from, today() - retention_days), today() do
    if left == 0 then return { dates, date_of_day(day) } end
    local outcome = unless_damaged(mend_if_due, symbol, day, retention_days, day % turns == turn)
    if outcome ~= 'counted' then left = left - 1 end
    if outcome == 'mended' then append(dates, date_of_day(day)) end
  end
  return { dates }
end

-- Arguments: symbol turn turns from. Mends the kept days from that date on; it is the turn of each turns-th day.
-- Reply: {date}* of the days that were wrong, and the date to go on with, if this call could not do all.
register_writing('kp_mend_days', MEND_COMMANDS, function(reader, retention_days)
  local symbol, turn, turns, from = reader.symbol(), reader.integer('turn'), reader.integer('turns'), reader.day()
  return mend_days(symbol, turn, turns, from, retention_days)
end)

-- For ingesters of older releases -----------------------------------------------------------------------------

-- Arguments: symbol. Mends the kept days of which more is stored than their rows count, two at most. Reply: the date of
-- one, if any.
register_writing('kp_mend', MEND_COMMANDS, function(reader, retention_days)
  return { mend_days(reader.symbol(), 1, 1, 0, retention_days)[1][1] }
end)

-- Once a minute, ingesters of 1.0.0 name no day, and call again until the reply is empty. Looks at one day of all
-- coins, another in each minute. Reply: {'symbol date'}* of a day that was mended.
local function mend_any(retention_days)
  local day = today() - math.floor(redis_seconds() / 60) % (retention_days + 1)
  for symbol in each_pair(redis.call('HGETALL', COINS)) do
    if unless_damaged(mend_if_due, symbol, day, retention_days) == 'mended' then
      return { symbol .. ' ' .. date_of_day(day) }
    end
  end
  return {}
end

-- Arguments: [symbol date]. Mends a kept day, whatever is wrong with it. Reply: how many members were removed, and 1
-- when its row has changed.
register_writing('kp_repair', MEND_COMMANDS .. ' HGETALL', function(reader, retention_days)
  require_type(REVISIONS, 'hash')
  if not reader.has_more() then return mend_any(retention_days) end
  return mend_day(reader.symbol(), reader.day(), retention_days)
end)
