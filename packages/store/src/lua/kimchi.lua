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
local TRACKED, DENIED = PREFIX .. 'tracked', PREFIX .. 'denied'
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

-- kind: samples or halted.
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
  return nil, { version = needed, prices = prices, layout = layout, known = meta[1] and meta[2] }
end

local function remember_writer(writer)
  if not writer.known then
    redis.call('HSET', META, 'prices', writer.prices, 'layout', string.format('%d', writer.layout))
  end
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

-- One coin's day as this call sees and changes it.
local function open_day(symbol, day)
  local date = date_of_day(day)
  local row = parse_row(redis.call('HGET', daily_key(symbol), date))
  local opened = { symbol = symbol, day = day, date = date }
  if row then
    opened.row, opened.counted, opened.last = row, row.samples, row.last
  else
    -- No row, or one that cannot be read: the stored samples are the truth.
    opened.row = fold_stored(symbol, day)
  end
  return opened
end

-- A day whose hours are partly gone (evicted, deleted, expired under a shorter retention) has a row that
-- counts minutes we can no longer see: writing them again would count them twice. It is frozen and takes only
-- minutes after its last.
local function is_frozen(opened, minute)
  if not opened.last or minute > opened.last then return false end
  if opened.frozen == nil then opened.frozen = stored_count(opened.symbol, opened.day) ~= opened.counted end
  return opened.frozen
end

-- One coin's live row as this call sees and changes it; a coin that is no longer tracked gets none.
local function open_live(symbol)
  local coin = redis.call('HGET', COINS, symbol)
  local untracked = coin and string.find(coin, '"order":null', 1, true)
  return { snapshot = snapshot_of(redis.call('HGET', LIVE, symbol)), untracked = untracked }
end

local function read_samples(reader)
  local samples = {}
  for index = 1, reader.integer('samples') do
    samples[index] = {
      symbol = reader.symbol(),
      minute = reader.integer('minute'),
      premium = reader.integer('premium'),
      member = reader.text('member'),
      live = reader.text('live row'),
    }
  end
  return samples
end

local function read_halts(reader)
  local halts = {}
  for index = 1, reader.integer('halts') do
    halts[index] = { symbol = reader.symbol(), minute = reader.integer('minute') }
  end
  return halts
end

-- Whether a sample may become its coin's live row: newer than that, and not too old for the list.
local function is_live(live, snapshot, oldest)
  return snapshot and not live.untracked and snapshot > oldest and (not live.snapshot or snapshot > live.snapshot)
end

-- Decides, without writing, what becomes of every sample.
local function plan_write(samples, retention_days, oldest)
  local now = redis_seconds()
  local plan = {
    adds = {}, days = {}, lives = {}, refused = {}, today = math.floor(now / 86400),
    duplicates = 0, expired = 0, frozen = 0,
  }
  local seen = {}
  local function refuse(index, reason)
    plan[reason] = plan[reason] + 1
    plan.refused[#plan.refused + 1] = string.format('%d %s', index, reason)
  end
  local function add(sample, key, opened)
    opened.row = fold(opened.row, sample.minute, sample.premium)
    opened.changed = true
    plan.adds[#plan.adds + 1] = { key = key, minute = sample.minute, member = sample.member, day = opened }
    local live = plan.lives[sample.symbol] or open_live(sample.symbol)
    plan.lives[sample.symbol] = live
    local snapshot = snapshot_of(sample.live)
    if is_live(live, snapshot, oldest) then live.snapshot, live.text = snapshot, sample.live end
  end
  for index, sample in ipairs(samples) do
    local symbol, minute = sample.symbol, sample.minute
    local day = day_of(minute)
    if now >= expiry_of(day, retention_days) then
      refuse(index, 'expired')
    else
      local id, mark = symbol .. ':' .. day, symbol .. ':' .. minute
      local opened = plan.days[id] or open_day(symbol, day)
      plan.days[id] = opened
      local key = hour_key_of('samples', symbol, minute)
      if seen[mark] or redis.call('ZCOUNT', key, minute, minute) > 0 then
        plan.duplicates = plan.duplicates + 1
      elseif is_frozen(opened, minute) then
        refuse(index, 'frozen')
      else
        seen[mark] = true
        add(sample, key, opened)
      end
    end
  end
  return plan
end

-- Decides, without writing, which minutes of halts are new. They are kept as long as samples are.
local function plan_halts(halts, retention_days)
  local plan = {}
  for _, halt in ipairs(halts) do
    local key = hour_key_of('halted', halt.symbol, halt.minute)
    local expiry = expiry_of(day_of(halt.minute), retention_days)
    if redis_seconds() < expiry and redis.call('ZCOUNT', key, halt.minute, halt.minute) == 0 then
      plan[#plan + 1] = { key = key, minute = halt.minute, expiry = expiry }
    end
  end
  return plan
end

local function add_halts(plan)
  for _, halt in ipairs(plan) do
    redis.call('ZADD', halt.key, halt.minute, halt.minute)
    redis.call('EXPIREAT', halt.key, halt.expiry)
  end
end

local function add_samples(adds, retention_days)
  local newest
  for _, add in ipairs(adds) do
    redis.call('ZADD', add.key, 'NX', add.minute, add.member)
    -- All hours of a day get one instant again whenever one is created, also after the retention was changed.
    if redis.call('ZCARD', add.key) == 1 then add.day.created = true end
    if not newest or add.minute > newest then newest = add.minute end
  end
  for _, add in ipairs(adds) do
    local opened = add.day
    if opened.created then
      opened.created = false
      for _, key in ipairs(hour_keys(opened.symbol, opened.day)) do
        redis.call('EXPIREAT', key, expiry_of(opened.day, retention_days))
      end
    end
  end
  return newest
end

-- A counter that was damaged by hand starts again instead of stopping a write half-way.
local function raise_revision(symbol)
  local revision = tonumber(redis.call('HGET', REVISIONS, symbol) or '0') or 0
  redis.call('HSET', REVISIONS, symbol, string.format('%d', revision + 1))
end

local function write_days(days, current_day)
  local closed_changed = {}
  for _, opened in pairs(days) do
    if opened.changed then
      redis.call('HSET', daily_key(opened.symbol), opened.date, format_row(opened.row))
      if opened.day ~= current_day then closed_changed[opened.symbol] = true end
    end
  end
  for symbol in pairs(closed_changed) do raise_revision(symbol) end
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

-- Version 2 said only once which coins it tracks: its samples say so from then on.
local function renew_for_version_2(samples, version)
  if version > 2 then return end
  local until_second = redis_seconds() + LEASE
  for _, sample in ipairs(samples) do
    if redis.call('ZSCORE', TRACKED, sample.symbol) then
      redis.call('ZADD', TRACKED, 'GT', until_second, sample.symbol)
    end
  end
end

-- Arguments: version prices layout retentionDays
--            samples {symbol minute premiumE4 member liveRow}*   halts {symbol minute}*
-- An empty live row leaves the live list alone. A coin that is halted at a minute leaves the list unless its
-- row is as new, and that minute is never missing.
-- Reply: stored, duplicates, expired, frozen, removed, how many coins {kp}:coins knows, {'index reason'}* of
-- the refused samples, counted from 1, and the primary's replication id.
local function kp_write(_, args)
  local reader = argument_reader(args)
  local refusal, writer = check_writer(reader)
  if refusal then return refusal end
  local retention_days = reader.integer('retention')
  local samples, halts = read_samples(reader), read_halts(reader)
  redis.call('HLEN', REVISIONS)
  redis.call('ZCARD', TRACKED)
  local newest = tonumber(redis.call('HGET', META, 'newest') or '') or 0
  local newest_given = newest
  for _, sample in ipairs(samples) do newest_given = math.max(newest_given, sample.minute) end
  local oldest = oldest_listed(newest_given)
  local plan = plan_write(samples, retention_days, oldest)
  local halted, removable = plan_halts(halts, retention_days), {}
  for _, halt in ipairs(halts) do
    local live = redis.call('HGET', LIVE, halt.symbol)
    local snapshot = plan.lives[halt.symbol] and plan.lives[halt.symbol].snapshot or snapshot_of(live)
    if live and (not snapshot or snapshot < timestamp_of(halt.minute)) then
      removable[#removable + 1] = halt.symbol
    end
  end

  remember_writer(writer)
  redis.call('HSET', META, 'retention', string.format('%d', retention_days))
  local added = add_samples(plan.adds, retention_days)
  write_days(plan.days, plan.today)
  add_halts(halted)
  for symbol, live in pairs(plan.lives) do
    if live.text then redis.call('HSET', LIVE, symbol, live.text) end
  end
  for _, symbol in ipairs(removable) do redis.call('HDEL', LIVE, symbol) end
  local removed = #removable
  if added and added > newest then
    redis.call('HSET', META, 'newest', string.format('%d', added))
    removed = removed + remove_old_rows(oldest)
  end
  renew_for_version_2(samples, writer.version)
  if added or removed > 0 then
    redis.call('PUBLISH', CHANNEL, string.format('%d', added or math.floor(redis_seconds() / 60)))
  end
  return {
    #plan.adds, plan.duplicates, plan.expired, plan.frozen, removed, redis.call('HLEN', COINS), plan.refused,
    replication_id(),
  }
end

-- kp_announce and kp_track ----------------------------------------------------------------------------------

local function is_listed(coin) return coin and string.find(coin, '^{"order":%d') ~= nil end

local function read_symbols(reader, field)
  local symbols = {}
  for index = 1, reader.integer(field) do symbols[index] = reader.symbol() end
  return symbols
end

local function read_coins(reader)
  local coins = {}
  for index = 1, reader.integer('coins') do
    coins[index] = { symbol = reader.symbol(), text = reader.text('coin') }
  end
  return coins
end

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
  local coins, denied = read_coins(reader), read_symbols(reader, 'denied')
  local status = reader.rest()
  if #status % 2 == 1 then argument_error('status must be pairs', #status) end
  local now, key = redis_seconds(), PREFIX .. 'ingester:' .. id
  local known = redis.call('HGETALL', COINS)
  for _, other in ipairs({ TRACKED, DENIED, INGESTERS }) do redis.call('ZCARD', other) end
  for _, other in ipairs({ LIVE, key }) do redis.call('HLEN', other) end

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

-- As version 2 calls it. Arguments: version prices layout   coins {symbol coinJson}*   [departed {symbol}*]
-- Without a list of departed coins every coin that is not given departs. Reply: live rows removed.
local function kp_track(_, args)
  local reader = argument_reader(args)
  local refusal, writer = check_writer(reader)
  if refusal then return refusal end
  local coins, given = read_coins(reader), {}
  for _, coin in ipairs(coins) do given[coin.symbol] = true end
  local departed
  if reader.has_more() then
    departed = {}
    for _, symbol in ipairs(read_symbols(reader, 'departed')) do departed[symbol] = true end
  end
  local known = redis.call('HGETALL', COINS)
  redis.call('ZCARD', TRACKED)
  redis.call('HLEN', LIVE)

  remember_writer(writer)
  local removed = 0
  for index = 1, #known, 2 do
    local symbol = known[index]
    if not given[symbol] and (not departed or departed[symbol]) then
      removed = removed + unlist(symbol, known[index + 1])
      redis.call('ZREM', TRACKED, symbol)
    end
  end
  for _, coin in ipairs(coins) do
    redis.call('HSET', COINS, coin.symbol, coin.text)
    redis.call('ZADD', TRACKED, 'GT', redis_seconds() + LEASE, coin.symbol)
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
  local old = parse_row(redis.call('HGET', daily_key(symbol), date))
  redis.call('HLEN', REVISIONS)
  if old and old.samples >= row.samples then return 0 end
  remember_writer(writer)
  redis.call('HSET', daily_key(symbol), date, format_row(row))
  raise_revision(symbol)
  return 1
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

-- Minutes of a day that kp_write would refuse are not missing: up to this one, not included, there is nothing
-- to do.
local function refused_until(symbol, day)
  local retention_days = tonumber(redis.call('HGET', META, 'retention') or '')
  if retention_days and redis_seconds() >= expiry_of(day, retention_days) then return (day + 1) * DAY_MINUTES end
  local row = parse_row(redis.call('HGET', daily_key(symbol), date_of_day(day)))
  if row and stored_count(symbol, day) ~= row.samples then return row.last + 1 end
  return 0
end

-- Arguments: symbol fromMinute toMinute (not included). Reply: {start end}*, the ranges without a sample that
-- may be written, the end not included. Minutes known as halted are not missing. A whole hour costs one
-- ZCARD.
local function kp_missing(_, args)
  local reader = argument_reader(args)
  local symbol, from, to = reader.symbol(), reader.integer('from'), reader.integer('to')
  local reply, expected = {}, from
  local function present(first, past)
    if first > expected then
      reply[#reply + 1] = expected
      reply[#reply + 1] = first
    end
    if past > expected then expected = past end
  end
  local function present_in_hour(hour, start, past)
    if past - start == 60 and redis.call('ZCARD', hour_key_of('samples', symbol, hour * 60)) == 60 then
      return present(start, past)
    end
    local known = {}
    for _, kind in ipairs({ 'samples', 'halted' }) do
      local key = hour_key_of(kind, symbol, hour * 60)
      local entries = redis.call('ZRANGEBYSCORE', key, start, '(' .. string.format('%d', past), 'WITHSCORES')
      for index = 2, #entries, 2 do known[tonumber(entries[index])] = true end
    end
    for minute = start, past - 1 do
      if known[minute] then present(minute, minute + 1) end
    end
  end
  for day = day_of(from), day_of(to - 1) do
    local first, past = math.max(from, day * DAY_MINUTES), math.min(to, (day + 1) * DAY_MINUTES)
    local writable = math.min(past, math.max(first, refused_until(symbol, day)))
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

-- One day's verdict; nil when its samples are no longer kept.
local function check_day(symbol, date, text, retention_days)
  local day = day_of_date(date)
  if not day then return 'WRONG not a date' end
  local row, count = parse_row(text), stored_count(symbol, day)
  local is_kept = retention_days and redis_seconds() < expiry_of(day, retention_days)
  if count == 0 and not is_kept then return nil end
  local folded, corrupt = fold_stored(symbol, day)
  if row and count ~= row.samples then
    return string.format(
      'FROZEN row counts %d, %d are stored (hours without any: %s): only minutes after %s are taken', row.samples,
      count, empty_hours(symbol, row), timestamp_of(row.last))
  end
  local expected = folded and format_row(folded) or 'nothing readable'
  if text == expected and corrupt == 0 then return string.format('ok %d samples', row.samples) end
  return string.format('WRONG row %s, samples fold to %s, corrupt members %d', text, expected, corrupt)
end

-- Argument: symbol. Reply: one line per day whose samples are kept: is its row the fold of them?
local function kp_check(_, args)
  local symbol = argument_reader(args).symbol()
  local retention_days = tonumber(redis.call('HGET', META, 'retention') or '')
  local dates, rows = sorted_dates(symbol)
  local lines = {}
  for _, date in ipairs(dates) do
    local verdict = check_day(symbol, date, rows[date], retention_days)
    if verdict then lines[#lines + 1] = date .. ' ' .. verdict end
  end
  return #lines > 0 and lines or { 'no samples of ' .. symbol .. ' are kept' }
end

-- Minutes of a range by what is known of them, 'stored' or 'halted', and how many are stored.
local function known_minutes(symbol, from, to)
  local known, stored = {}, 0
  for hour = math.floor(from / 60), math.floor((to - 1) / 60) do
    local halted = redis.call('ZRANGE', hour_key_of('halted', symbol, hour * 60), 0, -1)
    for _, minute in ipairs(halted) do known[tonumber(minute)] = 'halted' end
  end
  each_member(symbol, from, to, function(minute) known[minute], stored = 'stored', stored + 1 end)
  return known, stored
end

-- What is missing from one minute to another, not included, as ranges of one reason each.
local function gaps_of(known, from, to, refused)
  local gaps = {}
  for minute = from, to - 1 do
    local reason = known[minute]
      or (minute < refused and 'stays: the day is frozen or no longer kept' or 'open to backfill')
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
  local gaps, rows = gaps_of(known, from, to, refused_until(symbol, day)), {}
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
    local row = parse_row(redis.call('HGET', daily_key(coin.symbol), date))
    local premium = text and string.match(text, '"premium_pct":(-?[%d.e-]+)')
    rows[#rows + 1] = {
      coin.symbol, state, snapshot or '-', premium and premium .. '%' or '-',
      string.format('samples today %d', row and row.samples or 0),
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
redis.register_function('kp_track', kp_track)
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
