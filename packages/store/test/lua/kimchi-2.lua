#!lua name=kimchi
-- What Redis itself does with samples, as functions: one call is one atomic step. Read
-- docs/architecture.md#data-in-redis first.
--
-- Integers only: Lua numbers are doubles and cjson prints 14 digits, so premiums are integers of 1/10,000
-- percent, printed with %d, and prices pass through as the opaque members they came in.
-- A Redis script is not rolled back when it fails. So kp_write reads and checks everything first and then
-- only writes to keys whose type it has seen; nothing can stop it half-way.

-- Raised with every change of this file: a writer that needs a higher one loads its own copy.
local VERSION = 2

local DAY_MINUTES = 1440
local MEMBER_PREMIUM = 5
local PREFIX = '{kp}:'
local META, COINS, LIVE = PREFIX .. 'meta', PREFIX .. 'coins', PREFIX .. 'live'
local REVISIONS, CHANNEL = PREFIX .. 'revisions', PREFIX .. 'minute'
local ROW_FIELDS = { 'open', 'high', 'low', 'close', 'sum', 'samples', 'first', 'last' }
local ROW_FORMAT = '{"open":%d,"high":%d,"low":%d,"close":%d,"sum":%d,"samples":%d,"first":%d,"last":%d}'

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

local function hour_key(symbol, date, hour)
  return string.format('%ssamples:%s:%s%02d', PREFIX, symbol, string.gsub(date, '-', ''), hour)
end

local function hour_key_of(symbol, minute)
  return hour_key(symbol, date_of_day(day_of(minute)), math.floor(minute % DAY_MINUTES / 60))
end

local function hour_keys(symbol, day)
  local date, keys = date_of_day(day), {}
  for hour = 0, 23 do keys[hour + 1] = hour_key(symbol, date, hour) end
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
  function reader.optional_integer(field, fallback)
    if not args[next_index + 1] then return fallback end
    return reader.integer(field)
  end
  return reader
end

-- Every writing call begins with the library version it needs, its prices kind and its layout version.
-- The first call ever decides what this Redis holds; a writer of another kind never mixes in.
local function admit_writer(reader)
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
  if not text then return nil end
  local ok, row = pcall(cjson.decode, text)
  if not ok or type(row) ~= 'table' then return nil end
  for _, field in ipairs(ROW_FIELDS) do
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
    local key = hour_key_of(symbol, hour * 60)
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
local function open_day(symbol, day, current_day)
  local date = date_of_day(day)
  local text = redis.call('HGET', daily_key(symbol), date)
  local row = parse_row(text)
  local opened = { symbol = symbol, day = day, date = date, row = row }
  if row then
    -- A closed day whose hours are partly gone (expired under a shorter retention, evicted, deleted) has a
    -- row that counts minutes we can no longer see: writing them again would count them twice. Such a day is
    -- left as it is.
    opened.frozen = day ~= current_day and stored_count(symbol, day) ~= row.samples
  else
    -- No row, or one that cannot be read: the stored samples are the truth.
    opened.row = fold_stored(symbol, day)
  end
  return opened
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

local function read_removals(reader)
  local removals = {}
  for index = 1, reader.integer('removals') do
    removals[index] = { symbol = reader.symbol(), before = timestamp_of(reader.integer('minute')) }
  end
  return removals
end

-- Decides, without writing, what becomes of every sample.
local function plan_write(samples, retention_days)
  local now = redis_seconds()
  local plan = {
    adds = {}, days = {}, lives = {}, today = math.floor(now / 86400),
    duplicates = 0, expired = 0, frozen = 0,
  }
  local seen = {}
  for _, sample in ipairs(samples) do
    local symbol, minute = sample.symbol, sample.minute
    local day = day_of(minute)
    if now >= expiry_of(day, retention_days) then
      plan.expired = plan.expired + 1
    else
      local id = symbol .. ':' .. day
      local opened = plan.days[id] or open_day(symbol, day, plan.today)
      plan.days[id] = opened
      local key = hour_key_of(symbol, minute)
      local mark = symbol .. ':' .. minute
      if opened.frozen then
        plan.frozen = plan.frozen + 1
      elseif seen[mark] or redis.call('ZCOUNT', key, minute, minute) > 0 then
        plan.duplicates = plan.duplicates + 1
      else
        seen[mark] = true
        opened.row = fold(opened.row, minute, sample.premium)
        opened.changed = true
        plan.adds[#plan.adds + 1] = { key = key, minute = minute, member = sample.member, day = opened }
        local live = plan.lives[symbol] or open_live(symbol)
        plan.lives[symbol] = live
        local snapshot = snapshot_of(sample.live)
        if snapshot and not live.untracked and (not live.snapshot or snapshot > live.snapshot) then
          live.snapshot, live.text = snapshot, sample.live
        end
      end
    end
  end
  return plan
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

-- Arguments: version prices layout retentionDays
--            samples {symbol minute premiumE4 member liveRow}*   removals {symbol minute}*
-- An empty live row leaves the live list alone.
-- Reply: stored, duplicates, expired, frozen, removed, and how many coins {kp}:coins knows.
local function kp_write(_, args)
  local reader = argument_reader(args)
  local refusal, writer = admit_writer(reader)
  if refusal then return refusal end
  local retention_days = reader.integer('retention')
  local samples, removals = read_samples(reader), read_removals(reader)
  redis.call('HLEN', REVISIONS)
  local plan = plan_write(samples, retention_days)
  local removable = {}
  for _, removal in ipairs(removals) do
    local live = redis.call('HGET', LIVE, removal.symbol)
    local snapshot = plan.lives[removal.symbol] and plan.lives[removal.symbol].snapshot or snapshot_of(live)
    if live and (not snapshot or snapshot < removal.before) then removable[#removable + 1] = removal.symbol end
  end

  remember_writer(writer)
  local newest = add_samples(plan.adds, retention_days)
  write_days(plan.days, plan.today)
  for symbol, live in pairs(plan.lives) do
    if live.text then redis.call('HSET', LIVE, symbol, live.text) end
  end
  for _, symbol in ipairs(removable) do redis.call('HDEL', LIVE, symbol) end
  if newest or #removable > 0 then
    redis.call('PUBLISH', CHANNEL, string.format('%d', newest or math.floor(redis_seconds() / 60)))
  end
  return {
    #plan.adds, plan.duplicates, plan.expired, plan.frozen, #removable, redis.call('HLEN', COINS),
  }
end

-- kp_track --------------------------------------------------------------------------------------------------

-- Arguments: version prices layout   coins {symbol coinJson}*   [departed {symbol}*]
-- Coins that depart keep their entry with "order":null and leave the live list. Without a list of them every
-- coin that is not given departs; with one the others stay as they are, so that several ingesters, one of
-- which may know of a coin that another one doesn't, only add to each other. Reply: live rows removed.
local function kp_track(_, args)
  local reader = argument_reader(args)
  local refusal, writer = admit_writer(reader)
  if refusal then return refusal end
  local tracked, given = {}, {}
  for index = 1, reader.integer('coins') do
    local symbol = reader.symbol()
    given[index] = { symbol = symbol, text = reader.text('coin') }
    tracked[symbol] = true
  end
  local listed, departed = reader.optional_integer('departed', nil), {}
  for _ = 1, listed or 0 do departed[reader.symbol()] = true end
  local function departs(symbol) return not tracked[symbol] and (not listed or departed[symbol]) end
  local known, live = redis.call('HGETALL', COINS), redis.call('HKEYS', LIVE)

  remember_writer(writer)
  for index = 1, #known, 2 do
    if departs(known[index]) then
      local text = string.gsub(known[index + 1], '^{"order":%d+', '{"order":null')
      redis.call('HSET', COINS, known[index], text)
    end
  end
  for _, coin in ipairs(given) do redis.call('HSET', COINS, coin.symbol, coin.text) end
  local removed = 0
  for _, symbol in ipairs(live) do
    if departs(symbol) then removed = removed + redis.call('HDEL', LIVE, symbol) end
  end
  if removed > 0 then redis.call('PUBLISH', CHANNEL, string.format('%d', math.floor(redis_seconds() / 60))) end
  return removed
end

-- kp_import_day ---------------------------------------------------------------------------------------------

-- Arguments: version prices layout retentionDays symbol date open high low close sum samples first last
-- For days whose samples are no longer kept. Replaces a row only by one of more samples.
-- Reply: 1 stored, 0 a row of as many samples is there, -1 refused: the day belongs to kp_write.
local function kp_import_day(_, args)
  local reader = argument_reader(args)
  local refusal, writer = admit_writer(reader)
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
    local row = redis.call('HGET', daily_key(coins[index]), date)
    if row then
      rows[#rows + 1] = coins[index]
      rows[#rows + 1] = row
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

-- Arguments: symbol [fromMinute [toMinute]], without them the last hour. Reply: one readable line per sample.
local function kp_samples(_, args)
  local reader = argument_reader(args)
  local symbol, now = reader.symbol(), math.floor(redis_seconds() / 60)
  local from = reader.optional_integer('from', now - 59)
  local to = reader.optional_integer('to', math.max(now + 1, from + 60))
  local lines = {}
  each_member(symbol, from, to, function(minute, member)
    local fields = unpack_member(minute, member)
    if fields then
      lines[#lines + 1] = string.format('%s %s upbit_krw=%s binance_usdt=%s usdt_krw=%s %s',
        timestamp_of(minute), percent_text(fields[MEMBER_PREMIUM]), price_text(fields[2]),
        price_text(fields[3]), price_text(fields[4]), fields[6] == 1 and 'candle' or 'live')
    else
      lines[#lines + 1] = timestamp_of(minute) .. ' corrupt'
    end
  end)
  return lines
end

-- Arguments: symbol fromMinute toMinute (not included). Reply: {start end}*, the ranges without a sample, the
-- end not included. A whole hour costs one ZCARD.
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
  local hour = math.floor(from / 60)
  while hour * 60 < to do
    local key, start = hour_key_of(symbol, hour * 60), hour * 60
    if start >= from and start + 60 <= to and redis.call('ZCARD', key) == 60 then
      present(start, start + 60)
    else
      local entries = redis.call('ZRANGEBYSCORE', key, from, '(' .. string.format('%d', to), 'WITHSCORES')
      for index = 2, #entries, 2 do present(tonumber(entries[index]), tonumber(entries[index]) + 1) end
    end
    hour = hour + 1
  end
  present(to, to)
  return reply
end

-- Argument: symbol. Reply: one line per day whose samples are still kept: is its row the fold of them?
local function kp_check(_, args)
  local symbol = argument_reader(args).symbol()
  local dates, rows = sorted_dates(symbol)
  local lines = {}
  for _, date in ipairs(dates) do
    local day = day_of_date(date)
    if not day then
      lines[#lines + 1] = date .. ' WRONG not a date'
    elseif redis.call('EXISTS', unpack(hour_keys(symbol, day))) > 0 then
      local folded, corrupt = fold_stored(symbol, day)
      local expected = folded and format_row(folded) or 'nothing readable'
      if rows[date] == expected and corrupt == 0 then
        lines[#lines + 1] = string.format('%s ok %d samples', date, folded.samples)
      else
        lines[#lines + 1] = string.format(
          '%s WRONG row %s, samples fold to %s, corrupt members %d', date, rows[date], expected, corrupt)
      end
    end
  end
  return lines
end

-- Arguments: [ingester id]*. Reply: readable lines about this Redis, each coin and the given ingesters.
local function kp_status(_, args)
  local meta = redis.call('HMGET', META, 'prices', 'layout')
  local now, date = redis_seconds(), date_of_day(today())
  local lines = {
    string.format('library version %d', VERSION),
    string.format('prices %s, layout %s', meta[1] or 'none yet', meta[2] or 'none yet'),
    'redis time ' .. timestamp_of(math.floor(now / 60)) .. ' UTC',
  }
  local coins = redis.call('HGETALL', COINS)
  local symbols = {}
  for index = 1, #coins, 2 do
    local order = tonumber(string.match(coins[index + 1], '^{"order":(%d+)') or '')
    symbols[#symbols + 1] = { symbol = coins[index], order = order }
  end
  table.sort(symbols, function(a, b)
    if (a.order or 1e9) ~= (b.order or 1e9) then return (a.order or 1e9) < (b.order or 1e9) end
    return a.symbol < b.symbol
  end)
  for _, coin in ipairs(symbols) do
    local row = parse_row(redis.call('HGET', daily_key(coin.symbol), date))
    lines[#lines + 1] = string.format('%s %s, snapshot %s, samples today %d, revision %s', coin.symbol,
      coin.order and 'tracked' or 'not tracked', snapshot_of(redis.call('HGET', LIVE, coin.symbol)) or 'none',
      row and row.samples or 0, redis.call('HGET', REVISIONS, coin.symbol) or '0')
  end
  for _, id in ipairs(args) do
    local fields = redis.call('HGETALL', PREFIX .. 'ingester:' .. id)
    if #fields == 0 then lines[#lines + 1] = 'ingester ' .. id .. ' not seen' end
    for index = 1, #fields, 2 do
      lines[#lines + 1] = string.format('ingester %s %s %s', id, fields[index], fields[index + 1])
    end
  end
  return lines
end

redis.register_function('kp_write', kp_write)
redis.register_function('kp_track', kp_track)
redis.register_function('kp_import_day', kp_import_day)

local function register_reading(name, callback)
  redis.register_function({ function_name = name, callback = callback, flags = { 'no-writes' } })
end
register_reading('kp_read', kp_read)
register_reading('kp_days', kp_days)
register_reading('kp_members', kp_members)
register_reading('kp_samples', kp_samples)
register_reading('kp_missing', kp_missing)
register_reading('kp_check', kp_check)
register_reading('kp_status', kp_status)
