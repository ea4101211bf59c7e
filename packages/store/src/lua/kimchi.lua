#!lua name=kimchi
-- What Redis itself does with samples, as functions: one call is one atomic step.
-- Keys and rules: docs/architecture.md#data-in-redis.
--
-- Integers only: Lua numbers are doubles and cjson prints 14 digits. Premiums are integers of 1/10,000
-- percent, printed with %d and read back by pattern; prices pass through as the opaque members they came in.
-- No JSON here. A Redis script is not rolled back when it fails. So kp_write reads and checks everything
-- first and then only writes to keys whose type it has seen; nothing can stop it half-way.

-- Raised with every change of this file: a writer that needs a higher one loads its own copy. Writers and
-- readers of the version before run beside it during an upgrade, so their calls keep their arguments and
-- replies only grow.
local VERSION = 7

local DAY_MINUTES = 1440
local MEMBER_PREMIUM = 5
local PREFIX = '{kp}:'
local META, COINS, LIVE = PREFIX .. 'meta', PREFIX .. 'coins', PREFIX .. 'live'
local TRACKED, DENIED, HALTED = PREFIX .. 'tracked', PREFIX .. 'denied', PREFIX .. 'halted'
local REVISIONS, CHANNEL = PREFIX .. 'revisions', PREFIX .. 'minute'
local INGESTERS = PREFIX .. 'ingesters'
-- A coin stays listed this long (seconds) after an ingester said for the last time that it tracks it; each
-- says so once a minute. Longer than IDLE without anybody saying so, and it is not the coins that are gone.
local LEASE, IDLE = 210, 120
-- An ingester that has gone is spoken of for this long (seconds).
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
  local y, m, d = string.match(date, '^(%d%d%d%d)-(%d%d)-(%d%d)$')
  if not y then return nil end
  local month = tonumber(m)
  local year = tonumber(y) - (month <= 2 and 1 or 0)
  local era = math.floor(year / 400)
  local yoe = year - era * 400
  local doy = math.floor((153 * (month > 2 and month - 3 or month + 9) + 2) / 5) + tonumber(d) - 1
  local doe = yoe * 365 + math.floor(yoe / 4) - math.floor(yoe / 100) + doy
  local day = era * 146097 + doe - 719468
  return date_of_day(day) == date and day or nil
end

local function day_of(minute) return math.floor(minute / DAY_MINUTES) end

local function timestamp_of(minute)
  local in_day = minute % DAY_MINUTES
  return string.format('%sT%02d:%02d:00', date_of_day(day_of(minute)), math.floor(in_day / 60), in_day % 60)
end

local function redis_seconds() return tonumber(redis.call('TIME')[1]) end

local function today() return math.floor(redis_seconds() / 86400) end

-- Keys ------------------------------------------------------------------------------------------------------

local function daily_key(symbol) return PREFIX .. 'daily:' .. symbol end

-- kind: samples or settled.
local function hour_key(kind, symbol, date, hour)
  return string.format('%s%s:%s:%s%02d', PREFIX, kind, symbol, string.gsub(date, '-', ''), hour)
end

local function hour_key_of(kind, symbol, minute)
  return hour_key(kind, symbol, date_of_day(day_of(minute)), math.floor(minute % DAY_MINUTES / 60))
end

local function hour_keys(symbol, day)
  local date, keys = date_of_day(day), {}
  for hour = 0, 23 do keys[hour + 1] = hour_key('samples', symbol, date, hour) end
  return keys
end

local function require_type(key, kind)
  local found = redis.call('TYPE', key).ok
  if found ~= 'none' and found ~= kind then
    error(redis.error_reply(string.format('WRONGTYPE %s must be a %s, is a %s', key, kind, found)))
  end
end

-- What work(...) returns, or 'damaged' where it meets a key of a wrong type; any other error stays one.
local function unless_damaged(work, ...)
  local ok, first, second, third = pcall(work, ...)
  if ok then return first, second, third end
  local text = type(first) == 'table' and first.err or tostring(first)
  if not string.find(text, 'WRONGTYPE', 1, true) then error(first) end
  return 'damaged'
end

-- All hours of one UTC day expire at this instant (seconds) by Redis' own clock; writes into the day end with
-- it.
local function expiry_of(day, retention_days) return (day + retention_days + 1) * 86400 end

-- Arguments -------------------------------------------------------------------------------------------------

local function argument_error(field, value)
  error(redis.error_reply('KIMCHI_ARGUMENT ' .. field .. ', got: ' .. tostring(value)))
end

-- Takes arguments one by one, checked, so that a bad call stops before anything is written.
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
  function reader.has_more() return args[next_index + 1] ~= nil end
  function reader.optional_integer(field, fallback)
    if not reader.has_more() then return fallback end
    return reader.integer(field)
  end
  -- As many times read() as the next argument says.
  function reader.list(field, read)
    local list = {}
    for index = 1, reader.integer(field) do list[index] = read() end
    return list
  end
  function reader.rest()
    local rest = {}
    while reader.has_more() do rest[#rest + 1] = reader.text('argument') end
    return rest
  end
  return reader
end

-- Every writing call begins with the library version it needs, its prices kind and its layout version.
-- The first call ever decides what this Redis holds; a writer of another kind never mixes in.
local function check_writer(reader)
  local needed = reader.integer('version')
  if needed > VERSION then
    return redis.error_reply(string.format('KIMCHI_LIBRARY version %d is loaded, %d is needed', VERSION, needed))
  end
  local prices, layout = reader.text('prices'), reader.integer('layout')
  local meta = redis.call('HMGET', META, 'prices', 'layout')
  if meta[1] and meta[1] ~= prices then
    return redis.error_reply(
      'KIMCHI_PRICES_KIND this Redis holds ' .. meta[1] .. ' prices, the writer brings ' .. prices)
  end
  if meta[2] and tonumber(meta[2]) ~= layout then
    return redis.error_reply(
      string.format('KIMCHI_LAYOUT this Redis holds layout %s, the writer brings %d', meta[2], layout))
  end
  return nil, { prices = prices, layout = layout, known = meta[1] and meta[2] }
end

local function remember_writer(writer, retention_days)
  if not writer.known then
    redis.call('HSET', META, 'prices', writer.prices, 'layout', string.format('%d', writer.layout))
  end
  if retention_days then redis.call('HSET', META, 'retention', string.format('%d', retention_days)) end
end

-- Day rows --------------------------------------------------------------------------------------------------

local function is_integer(value)
  return type(value) == 'number' and value == math.floor(value) and value > -2 ^ 53 and value < 2 ^ 53
end

-- The row as a table, or nil when there is none or it is not what kp_write would have written.
local function parse_row(text)
  local values = { string.match(text or '', ROW_PATTERN) }
  if #values == 0 then return nil end
  local row = {}
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
  if not row then
    return {
      open = premium, high = premium, low = premium, close = premium,
      sum = premium, samples = 1, first = minute, last = minute,
    }
  end
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
  local hour = math.floor(from / 60)
  while hour * 60 < to do
    local key = hour_key_of('samples', symbol, hour * 60)
    local entries = redis.call('ZRANGEBYSCORE', key, from, '(' .. string.format('%d', to), 'WITHSCORES')
    for index = 1, #entries, 2 do visit(tonumber(entries[index + 1]), entries[index]) end
    hour = hour + 1
  end
end

-- The fields of a stored member, or nil when it cannot be one of that minute.
local function unpack_member(minute, member)
  local ok, fields = pcall(cmsgpack.unpack, member)
  if not ok or type(fields) ~= 'table' or fields[1] ~= minute % 60 then return nil end
  return is_integer(fields[MEMBER_PREMIUM]) and fields or nil
end

-- The row that a day's stored samples fold to, and how many of them cannot be read.
local function fold_stored(symbol, day)
  local row
  local corrupt = 0
  each_member(symbol, day * DAY_MINUTES, (day + 1) * DAY_MINUTES, function(minute, member)
    local fields = unpack_member(minute, member)
    if fields then row = fold(row, minute, fields[MEMBER_PREMIUM]) else corrupt = corrupt + 1 end
  end)
  return row, corrupt
end

-- kp_write --------------------------------------------------------------------------------------------------

local function snapshot_of(live_text)
  return live_text and string.match(live_text, '"snapshot_at":"(%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d)"')
end

-- Calls open(symbol, number) once for each pair of them in a call.
local function opened_once(open)
  local opened = {}
  return function(symbol, number)
    local id = symbol .. ':' .. number
    if not opened[id] then opened[id] = open(symbol, number) end
    return opened[id]
  end
end

-- One coin's day as this call sees and changes it.
local function open_day(symbol, day)
  local date = date_of_day(day)
  local row = read_row(symbol, date)
  local opened = { symbol = symbol, day = day, date = date }
  if row then
    opened.row, opened.counted, opened.last = row, row.samples, row.last
  else
    -- No row, or one that cannot be read: the stored samples are the truth.
    opened.row = fold_stored(symbol, day)
  end
  return opened
end

-- One coin's hour as this call finds it.
local function open_hour(symbol, hour)
  local samples, settled = hour_key_of('samples', symbol, hour * 60), hour_key_of('settled', symbol, hour * 60)
  return {
    samples = samples, is_new = redis.call('ZCARD', samples) == 0,
    settled = settled, has_settled = redis.call('ZCARD', settled) > 0,
  }
end

-- One coin's live row as this call sees and changes it; a coin that is no longer tracked gets none.
local function open_live(symbol)
  local coin = redis.call('HGET', COINS, symbol)
  return {
    symbol = symbol,
    untracked = coin and string.find(coin, '"order":null', 1, true),
    snapshot = snapshot_of(redis.call('HGET', LIVE, symbol)),
    halted = tonumber(redis.call('HGET', HALTED, symbol) or '') or 0,
  }
end

-- A day whose hours are partly gone (evicted, deleted, expired under a shorter retention) has a row that
-- counts minutes we can no longer see: writing them again would count them twice. It is frozen and takes only
-- minutes after its last.
local function is_frozen(opened, minute)
  if not opened.last or minute > opened.last then return false end
  if opened.frozen == nil then opened.frozen = stored_count(opened.symbol, opened.day) ~= opened.counted end
  return opened.frozen
end

local function has_minute(key, minute) return redis.call('ZCOUNT', key, minute, minute) > 0 end

local function read_samples(reader)
  return reader.list('samples', function()
    return {
      symbol = reader.symbol(), minute = reader.integer('minute'), premium = reader.integer('premium'),
      member = reader.text('member'), live = reader.text('live row'),
    }
  end)
end

local function read_settled(reader)
  return reader.list('settled', function()
    return { symbol = reader.symbol(), minute = reader.integer('minute'), reason = reader.text('reason') }
  end)
end

-- Whether a sample may become its coin's live row: newer than that, not from before a halt, and not too old
-- for the list.
local function is_live(live, sample, oldest)
  local snapshot = snapshot_of(sample.live)
  return snapshot and not live.untracked and sample.minute >= live.halted and snapshot > oldest
    and (not live.snapshot or snapshot > live.snapshot)
end

-- What this call sees and changes.
local function open_plan(retention_days)
  return {
    now = redis_seconds(), retention = retention_days, day = opened_once(open_day), hour = opened_once(open_hour),
    days = {}, lives = {}, adds = {}, settled = {}, duplicates = 0, refused = {},
  }
end

local function is_expired(plan, minute) return plan.now >= expiry_of(day_of(minute), plan.retention) end

local function live_of(plan, symbol)
  if not plan.lives[symbol] then plan.lives[symbol] = open_live(symbol) end
  return plan.lives[symbol]
end

-- Decides, without writing, what becomes of every sample.
local function plan_samples(plan, samples, oldest)
  local seen = {}
  -- What becomes of a sample: 'stored', 'duplicate', or why it is refused.
  local function decide(sample, mark)
    if is_expired(plan, sample.minute) then return 'expired' end
    local day = plan.day(sample.symbol, day_of(sample.minute))
    local hour = plan.hour(sample.symbol, math.floor(sample.minute / 60))
    if seen[mark] or has_minute(hour.samples, sample.minute) then return 'duplicate' end
    if is_frozen(day, sample.minute) then return 'frozen' end
    return 'stored', day, hour
  end
  for index, sample in ipairs(samples) do
    local mark = sample.symbol .. ':' .. sample.minute
    local outcome, day, hour = unless_damaged(decide, sample, mark)
    if outcome == 'stored' then
      seen[mark] = true
      day.row = fold(day.row, sample.minute, sample.premium)
      plan.days[day] = true
      day.created = day.created or hour.is_new
      plan.adds[#plan.adds + 1] = { minute = sample.minute, member = sample.member, day = day, hour = hour }
      local live = live_of(plan, sample.symbol)
      live.stored = math.max(live.stored or 0, sample.minute)
      if is_live(live, sample, oldest) then live.snapshot, live.text = snapshot_of(sample.live), sample.live end
    elseif outcome == 'duplicate' then
      plan.duplicates = plan.duplicates + 1
    else
      plan.refused[#plan.refused + 1] = string.format('%d %s', index, outcome)
    end
  end
end

local function plan_settled(plan, settled)
  for _, entry in ipairs(settled) do
    entry.hour = unless_damaged(plan.hour, entry.symbol, math.floor(entry.minute / 60))
    if entry.hour ~= 'damaged' and not is_expired(plan, entry.minute) then
      plan.settled[#plan.settled + 1] = entry
    end
  end
end

local function add_samples(plan)
  local newest
  for _, add in ipairs(plan.adds) do
    redis.call('ZADD', add.hour.samples, 'NX', add.minute, add.member)
    if add.hour.has_settled then redis.call('ZREMRANGEBYSCORE', add.hour.settled, add.minute, add.minute) end
    if not newest or add.minute > newest then newest = add.minute end
  end
  for opened in pairs(plan.days) do
    -- All hours of a day get one instant again whenever one is created, also after the retention was changed.
    if opened.created then
      for _, key in ipairs(hour_keys(opened.symbol, opened.day)) do
        redis.call('EXPIREAT', key, expiry_of(opened.day, plan.retention))
      end
    end
  end
  return newest
end

-- Settles a minute that is not stored, once the samples are; 1 when it was open. The first reason stays, and a
-- halt replaces any other.
local function settle(plan, entry)
  local key, minute = entry.hour.settled, entry.minute
  if has_minute(entry.hour.samples, minute) then return 0 end
  local was_settled = has_minute(key, minute)
  if was_settled and entry.reason ~= 'halted' then return 0 end
  redis.call('ZREMRANGEBYSCORE', key, minute, minute)
  redis.call('ZADD', key, minute, string.format('%d %s', minute, entry.reason))
  redis.call('EXPIREAT', key, expiry_of(day_of(minute), plan.retention))
  return was_settled and 0 or 1
end

local function settle_all(plan)
  local count = 0
  for _, entry in ipairs(plan.settled) do count = count + settle(plan, entry) end
  return count
end

-- A counter that was damaged by hand starts again instead of stopping a write half-way.
local function raise_revision(symbol)
  local revision = tonumber(redis.call('HGET', REVISIONS, symbol) or '0') or 0
  redis.call('HSET', REVISIONS, symbol, string.format('%d', revision + 1))
end

local function write_days(plan)
  local closed_changed = {}
  for opened in pairs(plan.days) do
    redis.call('HSET', daily_key(opened.symbol), opened.date, format_row(opened.row))
    if opened.day ~= math.floor(plan.now / 86400) then closed_changed[opened.symbol] = true end
  end
  for symbol in pairs(closed_changed) do raise_revision(symbol) end
end

-- A coin that is halted leaves the list unless its row is as new, and older samples don't bring it back: Redis
-- remembers the minute until a newer sample is stored. A minute from the future must not keep it off the list.
local function unlist_halted(plan, symbols, minute)
  local removed = 0
  for _, symbol in ipairs(symbols) do
    local live = live_of(plan, symbol)
    if not live.snapshot or live.snapshot < timestamp_of(minute) then
      removed = removed + redis.call('HDEL', LIVE, symbol)
      live.halted = math.max(live.halted, math.min(minute, math.floor(plan.now / 60) + 1))
      redis.call('HSET', HALTED, symbol, string.format('%d', live.halted))
    end
  end
  return removed
end

local function write_lives(plan)
  for symbol, live in pairs(plan.lives) do
    if live.text then redis.call('HSET', LIVE, symbol, live.text) end
    if live.stored and live.stored > live.halted then redis.call('HDEL', HALTED, symbol) end
  end
end

-- The newest minute before which a row is too old for the list, as a timestamp. A minute from the future, by
-- Redis' clock, must not empty the list.
local function oldest_listed(newest)
  local now = math.floor(redis_seconds() / 60)
  return timestamp_of(math.max(0, math.min(newest, now + 1) - LIST_MINUTES))
end

local function remove_old_rows(oldest)
  local rows, removed = redis.call('HGETALL', LIVE), 0
  for index = 1, #rows, 2 do
    local snapshot = snapshot_of(rows[index + 1])
    if snapshot and snapshot <= oldest then removed = removed + redis.call('HDEL', LIVE, rows[index]) end
  end
  return removed
end

-- Tells writers that another primary answers now, one that may lack what the last one had confirmed.
local function replication_id()
  return string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
end

-- Arguments: version prices layout retentionDays   samples {symbol minute premiumE4 member liveRow}*
--            settled {symbol minute reason}*   minute halted {symbol}*
-- An empty live row leaves the live list alone. The halted coins are those of that minute.
-- Reply: stored, duplicates, settled, removed, how many coins {kp}:coins knows, {'index reason'}* of the
-- refused samples, counted from 1, and the primary's replication id.
local function kp_write(_, args)
  local reader = argument_reader(args)
  local refusal, writer = check_writer(reader)
  if refusal then return refusal end
  local retention_days = reader.integer('retention')
  local samples, settled = read_samples(reader), read_settled(reader)
  local minute, halted = reader.integer('minute'), reader.list('halted', reader.symbol)
  for _, key in ipairs({ COINS, LIVE, REVISIONS, HALTED }) do require_type(key, 'hash') end
  require_type(TRACKED, 'zset')
  local newest = tonumber(redis.call('HGET', META, 'newest') or '') or 0
  local newest_given = newest
  for _, sample in ipairs(samples) do newest_given = math.max(newest_given, sample.minute) end
  local oldest = oldest_listed(newest_given)
  local plan = open_plan(retention_days)
  plan_samples(plan, samples, oldest)
  plan_settled(plan, settled)

  remember_writer(writer, retention_days)
  local added = add_samples(plan)
  write_days(plan)
  local settled_count = settle_all(plan)
  write_lives(plan)
  local removed = unlist_halted(plan, halted, minute)
  if added and added > newest then
    redis.call('HSET', META, 'newest', string.format('%d', added))
    removed = removed + remove_old_rows(oldest)
  end
  if added or removed > 0 then
    redis.call('PUBLISH', CHANNEL, string.format('%d', added or math.floor(plan.now / 60)))
  end
  return {
    #plan.adds, plan.duplicates, settled_count, removed, redis.call('HLEN', COINS), plan.refused, replication_id(),
  }
end

-- Arguments: version prices layout retentionDays. Refuses a writer whose prices or layout are not those of
-- this Redis, without a sample. Reply: 1.
local function kp_verify(_, args)
  local reader = argument_reader(args)
  local refusal, writer = check_writer(reader)
  if refusal then return refusal end
  remember_writer(writer, reader.integer('retention'))
  return 1
end

-- kp_announce -------------------------------------------------------------------------------------------

local function is_listed(coin) return coin and string.find(coin, '^{"order":%d') ~= nil end

-- Takes a coin off the list; its entry and its history stay.
local function unlist(symbol, coin)
  redis.call('HSET', COINS, symbol, (string.gsub(coin, '^{"order":%d+', '{"order":null')))
  return redis.call('HDEL', LIVE, symbol)
end

local function publish_removal(removed)
  if removed > 0 then redis.call('PUBLISH', CHANNEL, string.format('%d', math.floor(redis_seconds() / 60))) end
end

-- Nobody has announced anything for a while: Redis was away, or every ingester. What was listed then gets a
-- fresh lease, so that neither a restart nor the ingester that happens to come back first takes a coin off
-- the list.
local function wake_leases(now, known)
  local announced = tonumber(redis.call('HGET', META, 'announced') or '') or 0
  redis.call('HSET', META, 'announced', string.format('%d', now))
  if now - announced <= IDLE then return end
  for index = 1, #known, 2 do
    if is_listed(known[index + 1]) then redis.call('ZADD', TRACKED, 'GT', now + LEASE, known[index]) end
  end
  for _, symbol in ipairs(redis.call('ZRANGE', DENIED, 0, -1)) do
    redis.call('ZADD', DENIED, 'GT', now + LEASE, symbol)
  end
end

-- Takes coins off the list that no living ingester tracks, or that one denies.
local function unlist_lapsed(now)
  local known, removed = redis.call('HGETALL', COINS), 0
  for index = 1, #known, 2 do
    local symbol, coin = known[index], known[index + 1]
    if is_listed(coin) then
      local tracked = tonumber(redis.call('ZSCORE', TRACKED, symbol) or '0')
      local denied = tonumber(redis.call('ZSCORE', DENIED, symbol) or '0')
      if tracked <= now or denied > now then removed = removed + unlist(symbol, coin) end
    end
  end
  redis.call('ZREMRANGEBYSCORE', TRACKED, '-inf', now)
  redis.call('ZREMRANGEBYSCORE', DENIED, '-inf', now)
  return removed
end

-- Arguments: version prices layout   id ttlSeconds   isNew   coins {symbol coinJson}*   denied {symbol}*
--            {field value}*
-- One ingester's sign of life: the coins it tracks and those it denies stay so for another LEASE, and its
-- status is the given fields until ttlSeconds are over. isNew 1: its coins have changed, so that their order
-- is written; else the order of a listed coin is left as it is, so that ingesters of different orders don't
-- overwrite each other's every minute. Reply: live rows removed.
local function kp_announce(_, args)
  local reader = argument_reader(args)
  local refusal, writer = check_writer(reader)
  if refusal then return refusal end
  local id, ttl, is_new = reader.text('id'), reader.integer('ttl'), reader.integer('isNew') == 1
  local coins = reader.list('coins', function() return { symbol = reader.symbol(), text = reader.text('coin') } end)
  local denied = reader.list('denied', reader.symbol)
  local status = reader.rest()
  if #status % 2 == 1 then argument_error('status must be pairs', #status) end
  local now, key = redis_seconds(), PREFIX .. 'ingester:' .. id
  local known = redis.call('HGETALL', COINS)
  for _, other in ipairs({ TRACKED, DENIED, INGESTERS }) do require_type(other, 'zset') end
  for _, other in ipairs({ LIVE, key }) do require_type(other, 'hash') end

  remember_writer(writer)
  wake_leases(now, known)
  for _, symbol in ipairs(denied) do redis.call('ZADD', DENIED, now + LEASE, symbol) end
  for _, coin in ipairs(coins) do
    if is_new or not is_listed(redis.call('HGET', COINS, coin.symbol)) then
      redis.call('HSET', COINS, coin.symbol, coin.text)
    end
    redis.call('ZADD', TRACKED, now + LEASE, coin.symbol)
  end
  local removed = unlist_lapsed(now)
  if #status > 0 then
    redis.call('DEL', key)
    redis.call('HSET', key, unpack(status))
    redis.call('EXPIRE', key, ttl)
    redis.call('ZADD', INGESTERS, now, id)
    redis.call('ZREMRANGEBYSCORE', INGESTERS, '-inf', now - MISSED)
  end
  publish_removal(removed)
  return removed
end

-- kp_import_day ---------------------------------------------------------------------------------------------

-- Arguments: version prices layout retentionDays symbol date open high low close sum samples first last
-- For days whose samples are no longer kept. Replaces a row only by one of more samples.
-- Reply: 1 stored, 0 a row of as many samples is there, -1 refused: the day belongs to kp_write.
local function kp_import_day(_, args)
  local reader = argument_reader(args)
  local refusal, writer = check_writer(reader)
  if refusal then return refusal end
  local retention_days, symbol, date = reader.integer('retention'), reader.symbol(), reader.text('date')
  local day = day_of_date(date)
  if not day then argument_error('date must be YYYY-MM-DD', date) end
  local row = {}
  for _, field in ipairs(ROW_FIELDS) do row[field] = reader.integer(field) end
  if not parse_row(format_row(row)) then argument_error('day row must hold 1 sample or more', format_row(row)) end
  if redis_seconds() < expiry_of(day, retention_days) then return -1 end
  local old = read_row(symbol, date)
  require_type(REVISIONS, 'hash')
  if old and old.samples >= row.samples then return 0 end
  remember_writer(writer)
  redis.call('HSET', daily_key(symbol), date, format_row(row))
  raise_revision(symbol)
  return 1
end

-- kp_repair -------------------------------------------------------------------------------------------------

-- So many rows are folded by one call: each may take 1,440 samples, 1 or 2 ms.
local REPAIRS = 5

-- Writes the row of a kept day again where its text cannot be read; true when it did.
local function repair_day(symbol, day, text)
  if parse_row(text) or redis.call('EXISTS', unpack(hour_keys(symbol, day))) == 0 then return false end
  local row = fold_stored(symbol, day)
  if not row then return false end
  redis.call('HSET', daily_key(symbol), date_of_day(day), format_row(row))
  if day ~= today() then raise_revision(symbol) end
  return true
end

local function rows_of_days(symbol, first, last)
  local dates = {}
  for day = first, last do dates[#dates + 1] = date_of_day(day) end
  return redis.call('HMGET', daily_key(symbol), unpack(dates))
end

-- Arguments: version prices layout retentionDays. Writes rows of kept days that are absent or unreadable again,
-- from their samples. Reply: {'BTC 2026-11-20'}*, those of this call; none when all is well.
local function kp_repair(_, args)
  local reader = argument_reader(args)
  local refusal = check_writer(reader)
  if refusal then return refusal end
  require_type(REVISIONS, 'hash')
  local last, repaired = today(), {}
  local first = last - reader.integer('retention')
  for _, symbol in ipairs(redis.call('HKEYS', COINS)) do
    local texts = unless_damaged(rows_of_days, symbol, first, last)
    for day = first, texts == 'damaged' and first - 1 or last do
      if #repaired == REPAIRS then return repaired end
      if unless_damaged(repair_day, symbol, day, texts[day - first + 1]) == true then
        repaired[#repaired + 1] = symbol .. ' ' .. date_of_day(day)
      end
    end
  end
  return repaired
end

-- Reading ---------------------------------------------------------------------------------------------------

-- Everything a replica needs once per minute. Reply: Redis time in ms, prices, layout, {symbol coin}*,
-- {symbol live row}*, today's date, {symbol today's row}*, {symbol revision}*
local function kp_read()
  local time = redis.call('TIME')
  local date = date_of_day(math.floor(tonumber(time[1]) / 86400))
  local meta = redis.call('HMGET', META, 'prices', 'layout')
  local coins, rows = redis.call('HGETALL', COINS), {}
  for index = 1, #coins, 2 do
    -- A key that is no hash must not hide the other coins: the reader counts its row as unreadable.
    local row = redis.pcall('HGET', daily_key(coins[index]), date)
    if row then
      rows[#rows + 1] = coins[index]
      rows[#rows + 1] = type(row) == 'string' and row or ''
    end
  end
  return {
    string.format('%d', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)),
    meta[1] or '', meta[2] or '', coins, redis.call('HGETALL', LIVE), date, rows,
    redis.call('HGETALL', REVISIONS),
  }
end

local function sorted_dates(symbol)
  local entries = redis.call('HGETALL', daily_key(symbol))
  local dates, rows = {}, {}
  for index = 1, #entries, 2 do
    dates[#dates + 1] = entries[index]
    rows[entries[index]] = entries[index + 1]
  end
  table.sort(dates)
  return dates, rows
end

-- Argument: symbol. Reply: {date row}*, ascending.
local function kp_days(_, args)
  local dates, rows = sorted_dates(argument_reader(args).symbol())
  local reply = {}
  for _, date in ipairs(dates) do
    reply[#reply + 1] = date
    reply[#reply + 1] = rows[date]
  end
  return reply
end

-- Arguments: symbol fromMinute toMinute (not included). Reply: {minute member}*, ascending.
local function kp_members(_, args)
  local reader = argument_reader(args)
  local symbol, from, to = reader.symbol(), reader.integer('from'), reader.integer('to')
  local reply = {}
  each_member(symbol, from, to, function(minute, member)
    reply[#reply + 1] = string.format('%d', minute)
    reply[#reply + 1] = member
  end)
  return reply
end

-- For people ------------------------------------------------------------------------------------------------

-- The fewest digits that read back as the same number.
local function price_text(price)
  if type(price) ~= 'number' then return '?' end
  for digits = 15, 16 do
    local text = string.format('%.' .. digits .. 'g', price)
    if tonumber(text) == price then return text end
  end
  return string.format('%.17g', price)
end

local function percent_text(premium)
  local magnitude = math.abs(premium)
  return string.format(
    '%s%d.%04d%%', premium < 0 and '-' or '', math.floor(magnitude / 10000), magnitude % 10000)
end

-- Rows of cells as lines whose columns stand below each other; the last cell of a row is as long as it is.
local function aligned(rows)
  local widths, lines = {}, {}
  for _, row in ipairs(rows) do
    for column = 1, #row - 1 do widths[column] = math.max(widths[column] or 0, #row[column]) end
  end
  for _, row in ipairs(rows) do
    local cells = {}
    for column, cell in ipairs(row) do
      cells[column] = column < #row and cell .. string.rep(' ', widths[column] - #cell) or cell
    end
    lines[#lines + 1] = table.concat(cells, ' ')
  end
  return lines
end

local function age_text(seconds)
  if seconds < 120 then return string.format('%d s', seconds) end
  if seconds < 7200 then return string.format('%d min', math.floor(seconds / 60)) end
  return string.format('%d h', math.floor(seconds / 3600))
end

local function clock_text(minute)
  return string.format('%02d:%02d', math.floor(minute % DAY_MINUTES / 60), minute % 60)
end

-- Arguments: symbol [fromMinute [toMinute]], without them the last hour. Reply: one readable line per sample.
local function kp_samples(_, args)
  local reader = argument_reader(args)
  local symbol, now = reader.symbol(), math.floor(redis_seconds() / 60)
  local from = reader.optional_integer('from', now - 59)
  local to = reader.optional_integer('to', math.max(now + 1, from + 60))
  local rows = {}
  each_member(symbol, from, to, function(minute, member)
    local fields = unpack_member(minute, member)
    rows[#rows + 1] = fields and {
      timestamp_of(minute), percent_text(fields[MEMBER_PREMIUM]), 'upbit_krw=' .. price_text(fields[2]),
      'binance_usdt=' .. price_text(fields[3]), 'usdt_krw=' .. price_text(fields[4]),
      fields[6] == 1 and 'candle' or 'live',
    } or { timestamp_of(minute), 'corrupt' }
  end)
  return aligned(rows)
end

-- Rounded half away from zero, as the published mean is.
local function mean_text(row)
  local magnitude = math.floor((2 * math.abs(row.sum) + row.samples) / (2 * row.samples))
  return percent_text(row.sum < 0 and -magnitude or magnitude)
end

-- Arguments: symbol [days], without it the newest 30. Reply: one readable line per day, after one of names.
local function kp_history(_, args)
  local reader = argument_reader(args)
  local symbol = reader.symbol()
  local dates, texts = sorted_dates(symbol)
  local wanted = reader.optional_integer('days', 30)
  local rows = { { 'date', 'open', 'high', 'low', 'close', 'avg', 'samples', 'first', 'last' } }
  for index = math.max(1, #dates - wanted + 1), #dates do
    local row = parse_row(texts[dates[index]])
    rows[#rows + 1] = row and {
      dates[index], percent_text(row.open), percent_text(row.high), percent_text(row.low),
      percent_text(row.close), mean_text(row), string.format('%d', row.samples), clock_text(row.first),
      clock_text(row.last),
    } or { dates[index], 'corrupt' }
  end
  return #dates > 0 and aligned(rows) or { 'no day of ' .. symbol .. ' is stored' }
end

local function known_retention() return tonumber(redis.call('HGET', META, 'retention') or '') end

-- Minutes of a day that kp_write would refuse are not open: up to this one, not included, there is nothing to
-- do.
local function refused_until(symbol, day, retention_days)
  if retention_days and redis_seconds() >= expiry_of(day, retention_days) then return (day + 1) * DAY_MINUTES end
  local row = read_row(symbol, date_of_day(day))
  if row and stored_count(symbol, day) ~= row.samples then return row.last + 1 end
  return 0
end

-- The ranges of minutes without an entry of these kinds that kp_write would take: {start end}*.
local function open_ranges(symbol, from, to, kinds, retention_days)
  local reply, expected = {}, from
  local function present(first, past)
    if first > expected then
      reply[#reply + 1] = expected
      reply[#reply + 1] = first
    end
    if past > expected then expected = past end
  end
  local function present_in_hour(hour, start, past)
    local keys, count = {}, 0
    for index, kind in ipairs(kinds) do keys[index] = hour_key_of(kind, symbol, hour * 60) end
    for _, key in ipairs(keys) do
      if count < past - start then count = count + redis.call('ZCARD', key) end
    end
    if past - start == 60 and count == 60 then return present(start, past) end
    local known = {}
    for _, key in ipairs(keys) do
      local entries = redis.call('ZRANGEBYSCORE', key, start, '(' .. string.format('%d', past), 'WITHSCORES')
      for index = 2, #entries, 2 do known[tonumber(entries[index])] = true end
    end
    for minute = start, past - 1 do
      if known[minute] then present(minute, minute + 1) end
    end
  end
  for day = day_of(from), day_of(to - 1) do
    local first, past = math.max(from, day * DAY_MINUTES), math.min(to, (day + 1) * DAY_MINUTES)
    local writable = math.min(past, math.max(first, refused_until(symbol, day, retention_days)))
    present(first, writable)
    local hour = math.floor(writable / 60)
    while hour * 60 < past do
      present_in_hour(hour, math.max(writable, hour * 60), math.min(past, hour * 60 + 60))
      hour = hour + 1
    end
  end
  present(to, to)
  return reply
end

-- Arguments: symbol fromMinute toMinute (not included) [andSettled]. Reply: {start end}*, the ranges of open
-- minutes, the end not included: neither stored nor settled, and kp_write would take them. andSettled 1: the
-- settled ones too. None of a coin with a damaged key. A whole hour costs only ZCARDs.
local function kp_missing(_, args)
  local reader = argument_reader(args)
  local symbol, from, to = reader.symbol(), reader.integer('from'), reader.integer('to')
  local kinds = reader.optional_integer('andSettled', 0) == 1 and { 'samples' } or { 'samples', 'settled' }
  local ranges = unless_damaged(open_ranges, symbol, from, to, kinds, known_retention())
  return ranges == 'damaged' and {} or ranges
end

-- The hours of a day in which nothing is stored although its row goes on after them, e.g. '05 06'.
local function empty_hours(symbol, row)
  local hours = {}
  for minute = row.first - row.first % 60, row.last, 60 do
    if redis.call('EXISTS', hour_key_of('samples', symbol, minute)) == 0 then
      hours[#hours + 1] = string.format('%02d', minute % DAY_MINUTES / 60)
    end
  end
  return #hours > 0 and table.concat(hours, ' ') or 'none'
end

-- One day's verdict; nil when no samples of it are kept.
local function check_day(symbol, date, text, retention_days)
  local day = day_of_date(date)
  if not day then return 'WRONG not a date' end
  local row, count = parse_row(text), stored_count(symbol, day)
  local is_kept = text and redis_seconds() < expiry_of(day, retention_days)
  if count == 0 and not is_kept then return nil end
  local folded, corrupt = fold_stored(symbol, day)
  if row and count ~= row.samples then
    return string.format(
      'FROZEN row counts %d, %d are stored (hours without any: %s): only minutes after %s are taken', row.samples,
      count, empty_hours(symbol, row), timestamp_of(row.last))
  end
  local expected = folded and format_row(folded) or 'nothing readable'
  if text == expected and corrupt == 0 then return string.format('ok %d samples', row.samples) end
  return string.format('WRONG row %s, samples fold to %s, corrupt members %d%s', text or 'is absent', expected, corrupt,
    row and '' or ': an ingester writes the row again within 10 minutes')
end

-- Argument: symbol. Reply: one line per day whose samples are kept: is its row the fold of them? An error names
-- a key of a wrong type.
local function kp_check(_, args)
  local symbol, retention_days = argument_reader(args).symbol(), known_retention() or 0
  require_type(daily_key(symbol), 'hash')
  local dates, rows = sorted_dates(symbol)
  local lines = {}
  for day = today() - retention_days, today() do
    for hour = day * 24, day * 24 + 23 do
      for _, kind in ipairs({ 'samples', 'settled' }) do require_type(hour_key_of(kind, symbol, hour * 60), 'zset') end
    end
    local date = date_of_day(day)
    if not rows[date] then dates[#dates + 1] = date end
  end
  table.sort(dates)
  for _, date in ipairs(dates) do
    local verdict = check_day(symbol, date, rows[date], retention_days)
    if verdict then lines[#lines + 1] = date .. ' ' .. verdict end
  end
  return #lines > 0 and lines or { 'no samples of ' .. symbol .. ' are kept' }
end

-- Minutes of a range by what is known of them, 'stored' or why they are settled, and how many are stored.
local function known_minutes(symbol, from, to)
  local known, stored = {}, 0
  for hour = math.floor(from / 60), math.floor((to - 1) / 60) do
    local settled = redis.call('ZRANGE', hour_key_of('settled', symbol, hour * 60), 0, -1)
    for _, member in ipairs(settled) do
      local minute, reason = string.match(member, '^(%d+) (.+)$')
      if minute then known[tonumber(minute)] = reason end
    end
  end
  each_member(symbol, from, to, function(minute) known[minute], stored = 'stored', stored + 1 end)
  return known, stored
end

-- The minutes without a sample from one to another, not included, as ranges of one reason each.
local function gaps_of(known, from, to, refused)
  local gaps = {}
  for minute = from, to - 1 do
    local reason = known[minute]
      or (minute < refused and 'stays: the day is frozen or no longer kept' or 'open')
    local last = gaps[#gaps]
    if last and last.past == minute and last.reason == reason then
      last.past = minute + 1
    elseif reason ~= 'stored' then
      gaps[#gaps + 1] = { from = minute, past = minute + 1, reason = reason }
    end
  end
  return gaps
end

-- Arguments: symbol [date], without it today. Reply: how whole the day is so far, and a line per gap.
local function kp_gaps(_, args)
  local reader = argument_reader(args)
  local symbol = reader.symbol()
  local date = reader.has_more() and reader.text('date') or date_of_day(today())
  local day = day_of_date(date)
  if not day then argument_error('date must be YYYY-MM-DD', date) end
  local from = day * DAY_MINUTES
  local to = math.max(from, math.min(from + DAY_MINUTES, math.floor(redis_seconds() / 60)))
  local known, stored = known_minutes(symbol, from, to)
  local gaps, rows = gaps_of(known, from, to, refused_until(symbol, day, known_retention())), {}
  for _, gap in ipairs(gaps) do
    rows[#rows + 1] = {
      clock_text(gap.from), 'to ' .. clock_text(gap.past - 1), string.format('%d min', gap.past - gap.from),
      gap.reason,
    }
  end
  local lines = aligned(rows)
  table.insert(lines, 1, string.format('%s %s: %d of %d minutes stored, %d gaps', symbol, date, stored,
    to - from, #gaps))
  return lines
end

-- Entries of a sorted set in ascending order of score, as { member, score }.
local function scored(key)
  local entries, list = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}
  for index = 1, #entries, 2 do list[#list + 1] = { entries[index], tonumber(entries[index + 1]) } end
  return list
end

local function hash_of(key)
  local entries, fields = redis.call('HGETALL', key), {}
  for index = 1, #entries, 2 do fields[entries[index]] = entries[index + 1] end
  return fields
end

-- The ingesters heard of lately, and those asked for by name, each with its status hash.
local function known_ingesters(asked)
  local list, seen = {}, {}
  local function add(id, heard)
    if seen[id] then return end
    seen[id] = true
    list[#list + 1] = { id = id, heard = heard, fields = hash_of(PREFIX .. 'ingester:' .. id) }
  end
  for _, entry in ipairs(scored(INGESTERS)) do add(entry[1], entry[2]) end
  for _, id in ipairs(asked) do add(id) end
  table.sort(list, function(a, b) return a.id < b.id end)
  return list
end

-- All coins ever tracked in live order, those that have left last.
local function ordered_coins()
  local coins = {}
  for symbol, text in pairs(hash_of(COINS)) do
    coins[#coins + 1] = { symbol = symbol, order = tonumber(string.match(text, '^{"order":(%d+)') or '') }
  end
  table.sort(coins, function(a, b)
    if (a.order or 1e9) ~= (b.order or 1e9) then return (a.order or 1e9) < (b.order or 1e9) end
    return a.symbol < b.symbol
  end)
  return coins
end

-- A coin is fresh when it has the newest minute of all.
local function state_of(coin, snapshot, newest)
  if not coin.order then return 'left' end
  if not snapshot then return 'no price' end
  return snapshot >= newest and 'fresh' or 'stale'
end

-- One row per coin, and how many there are of each state.
local function coin_rows(newest)
  local live, date, rows, counts = hash_of(LIVE), date_of_day(today()), {}, {}
  for _, coin in ipairs(ordered_coins()) do
    local text = live[coin.symbol]
    local snapshot = snapshot_of(text)
    local state = state_of(coin, snapshot, newest)
    local row = unless_damaged(read_row, coin.symbol, date)
    local premium = text and string.match(text, '"premium_pct":(-?[%d.e-]+)')
    rows[#rows + 1] = {
      coin.symbol, state, snapshot or '-', premium and premium .. '%' or '-',
      row == 'damaged' and 'a damaged key, see kp_check' or string.format('samples today %d', row and row.samples or 0),
    }
    counts[state] = (counts[state] or 0) + 1
  end
  return rows, counts
end

-- Quarantined pairs, each once, in the words of the ingester that was heard last.
local function quarantine_rows(ingesters)
  local rows, seen = {}, {}
  for _, ingester in ipairs(ingesters) do
    for entry in string.gmatch(ingester.fields.quarantined_coins or '', '[^;]+') do
      local symbol, reason = string.match(entry, '^ *(%S+) %((.*)%)$')
      if symbol and not seen[symbol] then
        seen[symbol] = true
        rows[#rows + 1] = { symbol, 'quarantined', reason }
      end
    end
  end
  return rows
end

local function drift_text(fields)
  local median, worst = tonumber(fields.drift_median_e4 or ''), fields.drift_worst
  if not median then return 'drift not known yet' end
  local e4, where = string.match(worst or '', '^(%d+) %((.*)%)$')
  local text = 'drift median ' .. percent_text(median)
  return e4 and string.format('%s, worst %s at %s', text, percent_text(tonumber(e4)), where) or text
end

local function or_none(text) return text and text ~= '' and text or 'none' end

-- Ages are those of the moment at which the ingester said them.
local function feed_row(exchange, fields)
  local function age(field)
    local ms = tonumber(fields[exchange .. field] or '')
    return ms and string.format('%.1f s', ms / 1000) or '-'
  end
  local function count(field) return fields[exchange .. field] or '0' end
  return {
    '  ' .. exchange, fields[exchange .. '_state'], 'data ' .. age('_data_age_ms'),
    'watermark ' .. age('_watermark_age_ms'), 'reconnects ' .. count('_reconnects'),
    'silences ' .. count('_silences'), 'halted ' .. or_none(fields[exchange .. '_halted']),
  }
end

local function ingester_rows(ingester, now)
  local fields, name = ingester.fields, 'ingester ' .. ingester.id
  local heard = ingester.heard and age_text(math.max(0, now - ingester.heard)) .. ' ago' or 'never'
  if next(fields) == nil then return { { name, 'GONE', 'heard ' .. heard } } end
  local rows = {
    { name, 'heard ' .. heard, 'version ' .. or_none(fields.version), 'since ' .. or_none(fields.started_at) },
  }
  for _, exchange in ipairs({ 'upbit', 'binance' }) do
    if fields[exchange .. '_state'] then rows[#rows + 1] = feed_row(exchange, fields) end
  end
  rows[#rows + 1] = {
    '  minutes', 'last ' .. or_none(fields.last_minute), 'gaps in it ' .. or_none(fields.gaps_last_minute),
  }
  rows[#rows + 1] = {
    '  queue', (fields.waiting_minutes or '-') .. ' waiting', 'written to ' .. or_none(fields.last_written_minute),
    'problem ' .. or_none(fields.redis_problem),
  }
  rows[#rows + 1] = {
    '  backfill', (fields.open_minutes or '-') .. ' open',
    'coins waiting ' .. or_none(fields.backfill_waiting_coins), drift_text(fields),
  }
  return rows
end

local function append_all(list, more)
  for _, value in ipairs(more) do list[#list + 1] = value end
end

local function minute_of_meta(now)
  local minute = tonumber(redis.call('HGET', META, 'newest') or '')
  if not minute then return '', 'none yet' end
  local text = timestamp_of(minute)
  return text, string.format('%s, %s ago', text, age_text(math.max(0, now - minute * 60)))
end

-- Arguments: [ingester id]*, of ingesters that went more than an hour ago. Reply: everything at a glance.
local function kp_status(_, args)
  local meta, now = redis.call('HMGET', META, 'prices', 'layout'), redis_seconds()
  local newest, newest_text = minute_of_meta(now)
  local ingesters = known_ingesters(args)
  local coins, counts = coin_rows(newest)
  local quarantined = quarantine_rows(ingesters)
  local lines = aligned({
    { 'now', timestamp_of(math.floor(now / 60)) .. ' UTC' },
    { 'last minute', newest_text },
    { 'prices', string.format('%s, layout %s, library %d', meta[1] or 'none yet', meta[2] or 'none yet', VERSION) },
    { 'coins', string.format('%d fresh, %d stale, %d without a price, %d quarantined, %d left',
      counts.fresh or 0, counts.stale or 0, counts['no price'] or 0, #quarantined, counts.left or 0) },
  })
  append_all(coins, quarantined)
  append_all(lines, aligned(coins))
  for _, ingester in ipairs(ingesters) do append_all(lines, aligned(ingester_rows(ingester, now))) end
  return lines
end

redis.register_function('kp_write', kp_write)
redis.register_function('kp_announce', kp_announce)
redis.register_function('kp_verify', kp_verify)
redis.register_function('kp_repair', kp_repair)
redis.register_function('kp_import_day', kp_import_day)

local function register_reading(name, callback)
  redis.register_function({ function_name = name, callback = callback, flags = { 'no-writes' } })
end
register_reading('kp_read', kp_read)
register_reading('kp_days', kp_days)
register_reading('kp_members', kp_members)
register_reading('kp_samples', kp_samples)
register_reading('kp_history', kp_history)
register_reading('kp_gaps', kp_gaps)
register_reading('kp_missing', kp_missing)
register_reading('kp_check', kp_check)
register_reading('kp_status', kp_status)
