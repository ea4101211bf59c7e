#!lua name=kimchi
-- What Redis itself does with samples, as functions: one call is one atomic step. Redis loads people.lua as the
-- end of this file. Keys and rules: docs/architecture.md#data-in-redis.
--
-- Integers only: Lua numbers are doubles and cjson prints 14 digits. Premiums are integers of 1/10,000
-- percent, printed with %d and read back by pattern; prices pass through as the opaque members they came in.
-- No JSON here. Redis does not roll back a script that fails. So a call checks the type of every key before it
-- writes to it, and of those that all coins share before it writes anything.

-- Raise it with every change of what these files do: a writer that needs a higher one loads its own copy. Writers and
-- readers of the version before run beside it during an upgrade, so their calls keep their arguments, and replies
-- keep what they can't do without.
local VERSION = 21

local DAY_MINUTES = 1440
-- Redis answers nobody else during a call. One that counts more minutes, or replies with more members, would take
-- too long.
local MAX_SPAN, MAX_MEMBERS = 10 * DAY_MINUTES, 5 * DAY_MINUTES
local MEMBER_PREMIUM, MEMBER_SOURCE, CANDLE = 5, 6, 1
local PREFIX = '{kp}:'
local META, COINS, LIVE = PREFIX .. 'meta', PREFIX .. 'coins', PREFIX .. 'live'
local TRACKED, DENIED, HALTED = PREFIX .. 'tracked', PREFIX .. 'denied', PREFIX .. 'halted'
local REVISIONS, CHANNEL = PREFIX .. 'revisions', PREFIX .. 'minute'
local INGESTERS = PREFIX .. 'ingesters'
-- A coin stays listed for LISTED_FOR seconds after an ingester announced for the last time that it tracks it; each
-- announces its coins once a minute. If no ingester has announced anything for IDLE seconds, that was an outage,
-- and no coin leaves the list for it.
local LISTED_FOR, IDLE = 210, 120
-- kp_status lists a dead ingester for this long (seconds).
local MISSED = 3600
-- A row that is this many minutes older than the newest leaves the live list.
local LIST_MINUTES = 60
local ROW_FIELDS = { 'open', 'high', 'low', 'close', 'sum', 'samples', 'first', 'last' }
local ROW_FORMAT = '{"open":%d,"high":%d,"low":%d,"close":%d,"sum":%d,"samples":%d,"first":%d,"last":%d}'
local ROW_PATTERN = '^{"open":(-?%d+),"high":(-?%d+),"low":(-?%d+),"close":(-?%d+),"sum":(-?%d+),'
  .. '"samples":(%d+),"first":(%d+),"last":(%d+)}$'

-- Calendar --------------------------------------------------------------------------------------------------

-- The proleptic Gregorian date of a day number since 1970-01-01, in whole-number arithmetic.
local function date_of_day(day)
  local z = day + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor(
    (doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return string.format('%04d-%02d-%02d', year, month, doy - math.floor((153 * mp + 2) / 5) + 1)
end

-- The day number of YYYY-MM-DD, or nil when there is no such date.
local function day_of_date(date)
  local year, month, day = string.match(date, '^(%d%d%d%d)-(%d%d)-(%d%d)$')
  if not year then return nil end
  -- The guess is at most 3 days late and 1 early.
  local guess = math.floor((year - 1970) * 365.2425 + (month - 1) * 30.436875 + day)
  for candidate = guess - 3, guess + 1 do
    if date_of_day(candidate) == date then return candidate end
  end
  return nil
end

local function day_of(minute) return math.floor(minute / DAY_MINUTES) end

local function timestamp_of(minute)
  local in_day = minute % DAY_MINUTES
  return string.format('%sT%02d:%02d:00', date_of_day(day_of(minute)), math.floor(in_day / 60), in_day % 60)
end

local function redis_seconds() return tonumber(redis.call('TIME')[1]) end

local function today() return math.floor(redis_seconds() / 86400) end

-- Keys and replies ------------------------------------------------------------------------------------------

-- The number that a field of a hash holds, or nil.
local function hash_number(key, field) return tonumber(redis.call('HGET', key, field) or '') end

-- Iterates over a flat reply {key value}*.
local function each_pair(flat)
  local index = -1
  return function()
    index = index + 2
    return flat[index], flat[index + 1]
  end
end

local function append(list, ...)
  for _, value in ipairs({ ... }) do list[#list + 1] = value end
end

local function daily_key(symbol) return PREFIX .. 'daily:' .. symbol end

-- The beginning of the keys of a day's hours, whose end is the hour of the day in two digits.
local function hours_prefix(kind, symbol, day)
  return PREFIX .. kind .. ':' .. symbol .. ':' .. string.gsub(date_of_day(day), '-', '')
end

-- kind: samples or settled; hour: counted since 1970-01-01.
local function hour_key(kind, symbol, hour)
  return string.format('%s%02d', hours_prefix(kind, symbol, math.floor(hour / 24)), hour % 24)
end

local function hour_of(minute) return math.floor(minute / 60) end

local function hour_keys(symbol, day)
  local keys, prefix = {}, hours_prefix('samples', symbol, day)
  for hour = 0, 23 do keys[hour + 1] = string.format('%s%02d', prefix, hour) end
  return keys
end

local function require_type(key, kind)
  local found = redis.call('TYPE', key).ok
  if found ~= 'none' and found ~= kind then
    error(redis.error_reply(string.format('WRONGTYPE %s must be a %s, is a %s', key, kind, found)))
  end
end

-- Returns what work(...) returns, or 'damaged' when it meets a key of a wrong type; raises any other error.
local function unless_damaged(work, ...)
  local ok, result = pcall(work, ...)
  if ok then return result end
  if not string.find(tostring(result), 'WRONGTYPE', 1, true) then error(result) end
  return 'damaged'
end

-- When all hours of a UTC day expire and writes into it end, in seconds by Redis' own clock.
local function expiry_of(day, retention_days) return (day + retention_days + 1) * 86400 end

-- Arguments -------------------------------------------------------------------------------------------------

local function argument_error(field, value)
  error(redis.error_reply('KIMCHI_ARGUMENT ' .. field .. ', got: ' .. tostring(value)))
end

local function check_span(from, to, longest)
  if to - from > longest then argument_error(string.format('to must be at most from + %d', longest), to) end
end

-- Reads arguments one by one and checks each, so that a bad call stops before anything is written.
local function argument_reader(args)
  local next_index = 0
  local reader = {}
  function reader.text(field)
    next_index = next_index + 1
    if not args[next_index] then argument_error(field .. ' must be given', args[next_index]) end
    return args[next_index]
  end
  function reader.integer(field)
    local text = reader.text(field)
    if not string.match(text, '^%-?%d+$') then argument_error(field .. ' must be an integer', text) end
    return tonumber(text)
  end
  function reader.symbol()
    local text = reader.text('symbol')
    if not string.match(text, '^[%w._-]+$') then argument_error('symbol must be letters and digits', text) end
    return text
  end
  -- Two minutes, the second not included.
  function reader.span(longest)
    local from, to = reader.integer('from'), reader.integer('to')
    check_span(from, to, longest)
    return from, to
  end
  function reader.day()
    local date = reader.text('date')
    local day = day_of_date(date)
    if not day then argument_error('date must be YYYY-MM-DD', date) end
    return day
  end
  function reader.has_more() return args[next_index + 1] ~= nil end
  -- Calls read() as many times as the next argument says.
  function reader.list(field, read)
    local list = {}
    for index = 1, reader.integer(field) do list[index] = read() end
    return list
  end
  return reader
end

-- Reads the library version that a writing call needs, its prices kind, its layout version and for how many whole
-- UTC days it keeps samples, which it returns. The first call ever decides what this Redis holds; a writer of
-- another kind is refused.
local function check_writer(reader)
  local function refuse(format, ...) error(redis.error_reply(string.format(format, ...))) end
  local needed = reader.integer('version')
  if needed > VERSION then refuse('KIMCHI_LIBRARY version %d is loaded, %d is needed', VERSION, needed) end
  local prices, layout, retention = reader.text('prices'), reader.text('layout'), reader.integer('retention')
  local held = redis.call('HMGET', META, 'prices', 'layout')
  if held[1] and held[1] ~= prices then
    refuse('KIMCHI_PRICES_KIND this Redis holds %s prices, the writer brings %s', held[1], prices)
  end
  if held[2] and held[2] ~= layout then
    refuse('KIMCHI_LAYOUT this Redis holds layout %s, the writer brings %s', held[2], layout)
  end
  redis.call('HSET', META, 'prices', prices, 'layout', layout)
  return retention
end

-- Registers work(reader of the arguments, retention in days) as a function that writes. Its arguments begin with:
-- version prices layout retentionDays
local function register_writing(name, work)
  redis.register_function(name, function(_, args)
    local reader = argument_reader(args)
    return work(reader, check_writer(reader))
  end)
end

-- Registers work(reader of the arguments) as a function that reads.
local function register_reading(name, work)
  redis.register_function({
    function_name = name, flags = { 'no-writes' }, callback = function(_, args) return work(argument_reader(args)) end,
  })
end

-- For how long the ingesters keep samples, as they announce it; nil where none ever has.
local function known_retention() return hash_number(META, 'retention') end

-- Day rows --------------------------------------------------------------------------------------------------

local function is_integer(value)
  return type(value) == 'number' and value == math.floor(value) and value > -2 ^ 53 and value < 2 ^ 53
end

-- The row as a table, or nil when there is none or it is not what kp_write would have written.
local function parse_row(text)
  local values, row = { string.match(text or '', ROW_PATTERN) }, {}
  for index, field in ipairs(ROW_FIELDS) do
    row[field] = tonumber(values[index])
    if not is_integer(row[field]) then return nil end
  end
  if row.samples < 1 or row.first > row.last then return nil end
  return row
end

local function read_row(symbol, date) return parse_row(redis.call('HGET', daily_key(symbol), date)) end

local function format_row(row)
  return string.format(
    ROW_FORMAT, row.open, row.high, row.low, row.close, row.sum, row.samples, row.first, row.last)
end

local function fold(row, minute, premium)
  row = row or {
    open = premium, high = premium, low = premium, close = premium, sum = 0, samples = 0, first = minute, last = minute,
  }
  if minute < row.first then row.open, row.first = premium, minute end
  if minute > row.last then row.close, row.last = premium, minute end
  if premium > row.high then row.high = premium end
  if premium < row.low then row.low = premium end
  row.sum = row.sum + premium
  row.samples = row.samples + 1
  return row
end

local function stored_count(symbol, day)
  local count = 0
  for _, key in ipairs(hour_keys(symbol, day)) do count = count + redis.call('ZCARD', key) end
  return count
end

-- Calls visit(minute, member) for each stored member from one minute up to, not including, another.
local function each_member(symbol, from, to, visit)
  for hour = hour_of(from), hour_of(to - 1) do
    local key = hour_key('samples', symbol, hour)
    local entries = redis.call('ZRANGEBYSCORE', key, from, '(' .. string.format('%d', to), 'WITHSCORES')
    for member, minute in each_pair(entries) do visit(tonumber(minute), member) end
  end
end

-- The fields of a stored member, or nil when it cannot be one of that minute.
local function unpack_member(minute, member)
  local ok, fields = pcall(cmsgpack.unpack, member)
  if not ok or type(fields) ~= 'table' or fields[1] ~= minute % 60 then return nil end
  return is_integer(fields[MEMBER_PREMIUM]) and fields or nil
end

-- Of two members of one minute the live one counts, else the first by its bytes. Returns the fields of those
-- that count, by minute; adds the others to odd.
local function read_hour(key, hour, odd)
  local used = {}
  for member, score in each_pair(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')) do
    local minute, left_out = tonumber(score), member
    local fields, other = hour_of(minute) == hour and unpack_member(minute, member), used[minute]
    if fields and (not other or other[MEMBER_SOURCE] == CANDLE and fields[MEMBER_SOURCE] ~= CANDLE) then
      left_out = other and other.member
      fields.member = member
      used[minute] = fields
    end
    if left_out then odd[#odd + 1] = { key = key, member = left_out } end
  end
  return used
end

-- The row that a day's stored samples fold to, each minute once; and the members that it cannot use, as {key member}*.
local function fold_stored(symbol, day)
  local row
  local odd, keys = {}, hour_keys(symbol, day)
  -- The first minute of a day, of all coins at once, finds nothing.
  if redis.call('EXISTS', unpack(keys)) == 0 then return nil, odd end
  for index, key in ipairs(keys) do
    for minute, fields in pairs(read_hour(key, day * 24 + index - 1, odd)) do
      row = fold(row, minute, fields[MEMBER_PREMIUM])
    end
  end
  return row, odd
end

-- kp_write --------------------------------------------------------------------------------------------------

-- A coin's order in the live list; nil when it is not listed.
local function order_of(coin) return tonumber(string.match(coin or '', '^{"order":(%d+)') or '') end

local function snapshot_of(live_text)
  return live_text and string.match(live_text, '"snapshot_at":"(%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d)"')
end

-- A day whose hours are partly gone (evicted, deleted, expired under a shorter retention) has a row that
-- counts minutes that nobody can see any more: writing them again would count them twice. It is frozen: only
-- minutes after its last are stored. A stored sample raises both counts, so a call counts a day's samples once.
local function is_frozen(write, symbol, day, row, minute)
  if not row or minute > row.last then return false end
  local name = symbol .. day
  if write.lost[name] == nil then write.lost[name] = stored_count(symbol, day) < row.samples end
  return write.lost[name]
end

local function has_minute(key, minute) return redis.call('ZCOUNT', key, minute, minute) > 0 end

local function expire_hours(keys, expiry)
  for _, key in ipairs(keys) do redis.call('EXPIREAT', key, expiry) end
end

-- Returns 'stored', 'duplicate', or why the sample is refused. Meets a key of a wrong type before it has changed
-- anything. If the day's row cannot be read, its stored samples are the truth.
local function store_sample(write, sample)
  local symbol, minute, day = sample.symbol, sample.minute, day_of(sample.minute)
  local expiry = expiry_of(day, write.retention)
  if write.now >= expiry then return 'expired' end
  local samples, date = hour_key('samples', symbol, hour_of(minute)), date_of_day(day)
  if has_minute(samples, minute) then return 'duplicate' end
  local row = read_row(symbol, date) or (fold_stored(symbol, day))
  if is_frozen(write, symbol, day, row, minute) then return 'frozen' end
  redis.call('ZREMRANGEBYSCORE', hour_key('settled', symbol, hour_of(minute)), minute, minute)
  redis.call('ZADD', samples, minute, sample.member)
  if redis.call('ZCARD', samples) == 1 then
    -- All hours of a day expire at one instant. Only after a change of the retention has its first another one.
    local first = row and hour_key('samples', symbol, hour_of(row.first))
    local is_same = not first or redis.call('EXPIRETIME', first) == expiry
    expire_hours(is_same and { samples } or hour_keys(symbol, day), expiry)
  end
  redis.call('HSET', daily_key(symbol), date, format_row(fold(row, minute, sample.premium)))
  if day ~= math.floor(write.now / 86400) then write.changed[symbol] = true end
  return 'stored'
end

-- A stored sample becomes the live row of a tracked coin when it is newer, and not from before a halt. At the
-- minute of the halt a trade outranks it; a candle is of the trades before it.
local function list_sample(sample)
  local symbol, snapshot = sample.symbol, timestamp_of(sample.minute)
  local coin, shown = redis.call('HGET', COINS, symbol), snapshot_of(redis.call('HGET', LIVE, symbol))
  local halted = hash_number(HALTED, symbol) or 0
  -- An entry that cannot be read is no reason to hide the coin: the next announcement writes it again.
  local is_tracked = not (coin and string.find(coin, '"order":null', 1, true))
  if halted > 0 and sample.minute > halted then redis.call('HDEL', HALTED, symbol) end
  local fields = sample.minute == halted and unpack_member(sample.minute, sample.member)
  local is_halted = sample.minute < halted or fields and fields[MEMBER_SOURCE] == CANDLE
  if is_tracked and not is_halted and (not shown or snapshot > shown) then
    redis.call('HSET', LIVE, symbol, sample.live)
  end
end

-- Returns the newest minute that was stored.
local function store_samples(write, samples)
  local newest = 0
  for index, sample in ipairs(samples) do
    local outcome = unless_damaged(store_sample, write, sample)
    if outcome == 'stored' then
      write.stored = write.stored + 1
      newest = math.max(newest, sample.minute)
      list_sample(sample)
    elseif outcome == 'duplicate' then
      write.duplicates = write.duplicates + 1
    else
      write.refused[#write.refused + 1] = string.format('%d %s', index, outcome)
    end
  end
  return newest
end

-- Settles a minute that is not stored; true when it was open. The first reason stays, and a halt replaces any
-- other.
local function settle(write, entry)
  local symbol, minute = entry.symbol, entry.minute
  local expiry, settled = expiry_of(day_of(minute), write.retention), hour_key('settled', symbol, hour_of(minute))
  if write.now >= expiry or has_minute(hour_key('samples', symbol, hour_of(minute)), minute) then return false end
  local was_settled = has_minute(settled, minute)
  if was_settled and entry.reason ~= 'halted' then return false end
  redis.call('ZREMRANGEBYSCORE', settled, minute, minute)
  redis.call('ZADD', settled, minute, string.format('%d %s', minute, entry.reason))
  redis.call('EXPIREAT', settled, expiry)
  return not was_settled
end

-- A counter that is no number starts again.
local function raise_revision(symbol)
  redis.call('HSET', REVISIONS, symbol, string.format('%d', (hash_number(REVISIONS, symbol) or 0) + 1))
end

-- A minute from the future, by Redis' clock, must neither empty the list nor keep a coin off it.
local function not_future(minute) return math.min(minute, math.floor(redis_seconds() / 60) + 1) end

-- A halted coin leaves the list unless its row is as new, and older samples don't bring it back: Redis remembers
-- the minute until a newer sample is stored.
local function unlist_halted(symbols, minute)
  local removed, halted = 0, not_future(minute)
  for _, symbol in ipairs(symbols) do
    local shown = snapshot_of(redis.call('HGET', LIVE, symbol))
    if not shown or shown < timestamp_of(minute) then
      removed = removed + redis.call('HDEL', LIVE, symbol)
      redis.call('HSET', HALTED, symbol, string.format('%d', math.max(hash_number(HALTED, symbol) or 0, halted)))
    end
  end
  return removed
end

-- Also rows of samples that were too old when they were stored.
local function remove_old_rows(newest)
  local removed, oldest = 0, timestamp_of(not_future(newest) - LIST_MINUTES)
  for symbol, row in each_pair(redis.call('HGETALL', LIVE)) do
    local snapshot = snapshot_of(row)
    if snapshot and snapshot <= oldest then removed = removed + redis.call('HDEL', LIVE, symbol) end
  end
  return removed
end

local function publish(minute) redis.call('PUBLISH', CHANNEL, string.format('%d', minute)) end

-- A writer sees by this id that another primary answers, which may lack what the last one had confirmed.
local function replication_id()
  return string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
end

local function read_batch(reader)
  local samples = reader.list('samples', function()
    return {
      symbol = reader.symbol(), minute = reader.integer('minute'), premium = reader.integer('premium'),
      member = reader.text('member'), live = reader.text('live row'),
    }
  end)
  local entries = reader.list('settled', function()
    return { symbol = reader.symbol(), minute = reader.integer('minute'), reason = reader.text('reason') }
  end)
  return samples, entries, reader.integer('minute'), reader.list('halted', reader.symbol)
end

-- Arguments: samples {symbol minute premiumE4 member liveRow}*   settled {symbol minute reason}*
--            minute   halted {symbol}*
-- The halted coins are those of that minute.
-- Reply: stored, duplicates, settled, removed, how many coins {kp}:coins knows, {'index reason'}* of the
-- refused samples, counted from 1, and the primary's replication id.
register_writing('kp_write', function(reader, retention_days)
  local write = {
    now = redis_seconds(), retention = retention_days, stored = 0, duplicates = 0, refused = {}, changed = {}, lost = {},
  }
  local samples, entries, minute, halted = read_batch(reader)
  for _, key in ipairs({ COINS, LIVE, REVISIONS, HALTED }) do require_type(key, 'hash') end
  require_type(TRACKED, 'zset')
  local newest = hash_number(META, 'newest') or 0
  local newest_stored, settled = store_samples(write, samples), 0
  for _, entry in ipairs(entries) do
    if unless_damaged(settle, write, entry) == true then settled = settled + 1 end
  end
  for symbol in pairs(write.changed) do raise_revision(symbol) end
  local removed = unlist_halted(halted, minute)
  if newest_stored > newest then redis.call('HSET', META, 'newest', string.format('%d', newest_stored)) end
  if write.stored > 0 then
    removed = removed + remove_old_rows(math.max(newest, newest_stored))
    publish(newest_stored)
  elseif removed > 0 then
    publish(math.floor(write.now / 60))
  end
  return {
    write.stored, write.duplicates, settled, removed, redis.call('HLEN', COINS), write.refused, replication_id(),
  }
end)

-- Refuses as every writing call does. Reply: 1.
register_writing('kp_verify', function() return 1 end)

-- kp_announce -------------------------------------------------------------------------------------------

-- After an outage, of Redis or of every ingester, each coin that was listed or denied before stays so for another
-- LISTED_FOR: neither a restart nor the ingester that happens to come back first unlists a coin.
local function keep_listed_after_outage(now, known)
  local announced = hash_number(META, 'announced') or 0
  redis.call('HSET', META, 'announced', string.format('%d', now))
  if now - announced <= IDLE then return end
  for symbol, coin in each_pair(known) do
    if order_of(coin) then redis.call('ZADD', TRACKED, 'GT', now + LISTED_FOR, symbol) end
  end
  for _, symbol in ipairs(redis.call('ZRANGE', DENIED, 0, -1)) do
    redis.call('ZADD', DENIED, 'GT', now + LISTED_FOR, symbol)
  end
end

-- Takes coins off the list that no living ingester tracks or that one denies; their entries and history stay.
local function unlist_lapsed(now)
  local removed = 0
  for _, key in ipairs({ TRACKED, DENIED }) do redis.call('ZREMRANGEBYSCORE', key, '-inf', now) end
  for symbol, coin in each_pair(redis.call('HGETALL', COINS)) do
    local stays = redis.call('ZSCORE', TRACKED, symbol) and not redis.call('ZSCORE', DENIED, symbol)
    if order_of(coin) and not stays then
      redis.call('HSET', COINS, symbol, (string.gsub(coin, '^{"order":%d+', '{"order":null')))
      removed = removed + redis.call('HDEL', LIVE, symbol)
    end
  end
  return removed
end

-- Arguments: id ttlSeconds isNew   coins {symbol coinJson}*   denied {symbol}*   status {field value}*
-- One ingester's sign of life: the coins it tracks and those it denies stay so for LISTED_FOR more, and its
-- status is the given fields until ttlSeconds are over. isNew 1: its coins have changed, so that their order
-- is written; else the order of a listed coin stays, so that ingesters of different orders don't overwrite each
-- other's every minute. Reply: live rows removed.
register_writing('kp_announce', function(reader, retention_days)
  local id, ttl, is_new = reader.text('id'), reader.integer('ttl'), reader.integer('isNew') == 1
  local coins = reader.list('coins', function() return { symbol = reader.symbol(), text = reader.text('coin') } end)
  local denied = reader.list('denied', reader.symbol)
  local status = reader.list('status', function() return reader.text('status') end)
  local now, key = redis_seconds(), PREFIX .. 'ingester:' .. id
  local known = redis.call('HGETALL', COINS)
  for _, other in ipairs({ TRACKED, DENIED, INGESTERS }) do require_type(other, 'zset') end
  for _, other in ipairs({ LIVE, key }) do require_type(other, 'hash') end
  redis.call('HSET', META, 'retention', string.format('%d', retention_days))
  keep_listed_after_outage(now, known)
  for _, symbol in ipairs(denied) do redis.call('ZADD', DENIED, now + LISTED_FOR, symbol) end
  for _, coin in ipairs(coins) do
    if is_new or not order_of(redis.call('HGET', COINS, coin.symbol)) then
      redis.call('HSET', COINS, coin.symbol, coin.text)
    end
    redis.call('ZADD', TRACKED, now + LISTED_FOR, coin.symbol)
  end
  local removed = unlist_lapsed(now)
  if #status > 0 then
    redis.call('DEL', key)
    redis.call('HSET', key, unpack(status))
    redis.call('EXPIRE', key, ttl)
    redis.call('ZADD', INGESTERS, now, id)
    redis.call('ZREMRANGEBYSCORE', INGESTERS, '-inf', now - MISSED)
  end
  if removed > 0 then publish(math.floor(now / 60)) end
  return removed
end)

-- kp_import_day ---------------------------------------------------------------------------------------------

-- Arguments: symbol date open high low close sum samples first last
-- For days whose samples are no longer kept, by the retention of the ingesters, if there was one. Replaces a row
-- only by one of more samples.
-- Reply: 1 stored, 0 the row that is there has as many samples or more, -1 refused: the day belongs to kp_write.
register_writing('kp_import_day', function(reader, retention_days)
  local symbol, day = reader.symbol(), reader.day()
  local date, kept_days = date_of_day(day), known_retention() or retention_days
  local row = {}
  for _, field in ipairs(ROW_FIELDS) do row[field] = reader.integer(field) end
  if not parse_row(format_row(row)) then argument_error('day row must hold 1 sample or more', format_row(row)) end
  if redis_seconds() < expiry_of(day, kept_days) then return -1 end
  if redis.call('EXISTS', unpack(hour_keys(symbol, day))) > 0 then return -1 end
  local old = read_row(symbol, date)
  require_type(REVISIONS, 'hash')
  if old and old.samples >= row.samples then return 0 end
  redis.call('HSET', daily_key(symbol), date, format_row(row))
  raise_revision(symbol)
  return 1
end)

-- kp_repair -------------------------------------------------------------------------------------------------

-- Whether more is stored of a day than its row counts. Redis can apply a write in part when it loads an
-- append-only file that was cut within the transaction: then a sample is stored that no row counts, that never
-- expires, and whose minute may be stored again from a candle.
local function is_uncounted(symbol, day)
  local row = read_row(symbol, date_of_day(day))
  return stored_count(symbol, day) > (row and row.samples or 0)
end

-- Arguments: symbol date. Where more is stored than the row counts, removes the members that cannot be used, and
-- folds the others again: then it counts all that is left. Reply: how many were removed, 1 when the row was written.
register_writing('kp_repair', function(reader, retention_days)
  local symbol, day = reader.symbol(), reader.day()
  require_type(REVISIONS, 'hash')
  if redis_seconds() >= expiry_of(day, retention_days) or not is_uncounted(symbol, day) then return { 0, 0 } end
  local old, row, odd = read_row(symbol, date_of_day(day)), fold_stored(symbol, day)
  for _, each in ipairs(odd) do redis.call('ZREM', each.key, each.member) end
  -- A row that counts more than is left stays: stored samples were lost.
  local is_written = row and not (old and old.samples > row.samples)
  if is_written then
    redis.call('HSET', daily_key(symbol), date_of_day(day), format_row(row))
    expire_hours(hour_keys(symbol, day), expiry_of(day, retention_days))
    if day ~= today() then raise_revision(symbol) end
  end
  return { #odd, is_written and 1 or 0 }
end)

-- Reading ---------------------------------------------------------------------------------------------------

-- Everything a replica needs once per minute. Reply: prices, layout, {symbol coin}*, {symbol live row}*, today's
-- date, {symbol today's row}*, {symbol revision}*
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
    redis.call('HGETALL', REVISIONS),
  }
end)

local function hash_of(key)
  local fields = {}
  for field, value in each_pair(redis.call('HGETALL', key)) do fields[field] = value end
  return fields
end

-- The dates of a coin's days in order, and the texts of their rows.
local function sorted_dates(symbol)
  local dates, rows = {}, hash_of(daily_key(symbol))
  for date in pairs(rows) do dates[#dates + 1] = date end
  table.sort(dates)
  return dates, rows
end

-- Argument: symbol. Reply: {date row}*, ascending.
register_reading('kp_days', function(reader)
  local dates, rows = sorted_dates(reader.symbol())
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
      local minute = tonumber(score)
      known[minute] = kind == 'samples' and 'stored' or known[minute] or string.match(member, ' (.+)$')
    end
  end
  return known
end

local function is_whole(symbol, hour, kinds)
  local count = 0
  for _, kind in ipairs(kinds) do
    if count < 60 then count = count + redis.call('ZCARD', hour_key(kind, symbol, hour)) end
  end
  return count == 60
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

-- The minutes without a sample as ranges {first past reason}*: 'open', REFUSED, or why they are settled. An hour that
-- is whole with entries of these kinds counts as one without a gap, and costs only ZCARDs.
local function gaps_of(symbol, from, to, kinds)
  local gaps, refused, retention_days = {}, {}, known_retention()
  for hour = hour_of(from), hour_of(to - 1) do
    local day = math.floor(hour / 24)
    refused[day] = refused[day] or refused_until(symbol, day, retention_days)
    if not is_whole(symbol, hour, kinds) then
      local known = known_minutes(symbol, hour)
      for minute = math.max(from, hour * 60), math.min(to, hour * 60 + 60) - 1 do
        add_to_gaps(gaps, minute, known[minute] or (minute < refused[day] and REFUSED or 'open'))
      end
    end
  end
  return gaps
end

-- Arguments: symbol fromMinute toMinute (not included). Reply: {start end}*, the ranges of open minutes, the end
-- not included: neither stored nor settled, and kp_write would store them. A coin with a damaged key has none.
register_reading('kp_missing', function(reader)
  local symbol = reader.symbol()
  local from, to = reader.span(MAX_SPAN)
  local gaps, ranges = unless_damaged(gaps_of, symbol, from, to, { 'samples', 'settled' }), {}
  for _, gap in ipairs(gaps == 'damaged' and {} or gaps) do
    if gap.reason == 'open' then append(ranges, gap.first, gap.past) end
  end
  return ranges
end)

-- Arguments: symbol fromMinute toMinute (not included). Reply: the dates of which more is stored than the row
-- counts; those with a damaged key left out.
register_reading('kp_uncounted', function(reader)
  local symbol = reader.symbol()
  local from, to = reader.span(MAX_SPAN)
  local dates = {}
  for day = day_of(from), day_of(to - 1) do
    if unless_damaged(is_uncounted, symbol, day) == true then append(dates, date_of_day(day)) end
  end
  return dates
end)

-- Reply: INFO memory of the server that holds these keys, whichever that is on a Cluster.
register_reading('kp_memory', function() return redis.call('INFO', 'memory') end)
