#!lua name=kimchi
-- What Redis itself does with samples, as functions: one call is one atomic step. Redis loads write.lua, mend.lua,
-- read.lua and print.lua as the rest of this file. Keys and rules: docs/architecture.md#data-in-redis.
--
-- Integers only: Lua numbers are doubles and cjson prints 14 digits. Premiums are integers of 1/10,000
-- percent, printed with %d and read back by pattern; prices pass through as the opaque members they came in.
-- No JSON here. Redis does not roll back a script that fails. So a call checks its arguments, its caller's rights and
-- the types of the keys that all coins share before it writes anything, and a coin's keys before it writes to them.

-- Raise it with every change of what these files do: a writer that needs a higher one loads its own copy. Writers and
-- readers of the version before run beside it during an upgrade, and alone after a rollback: a call of other arguments
-- gets a new name, and replies keep what they can't do without.
local VERSION = 26

local DAY_MINUTES = 1440
-- Redis answers nobody else during a call. One that counts more minutes, or replies with more members, would take
-- too long.
local MAX_SPAN, MAX_MEMBERS = 10 * DAY_MINUTES, 5 * DAY_MINUTES
local MEMBER_PREMIUM, MEMBER_SOURCE, CANDLE = 5, 6, 1
local MAX_PRICE = 1e12
-- Minutes end before the year 10000, and retentions below these days: what is computed of them must not overflow.
local MINUTES_END, RETENTIONS_END = 4223371680, 401
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

-- The minute of a UTC date or time as people write them: 2026-11-20, 2026-11-20T13:05, 2026-11-20 13:05:00Z.
local function minute_of_time(text)
  local date, clock = string.match(text, '^(%d+%-%d+%-%d+)(.-)Z?$')
  local day = date and day_of_date(date)
  if not day or clock == '' then return day and day * DAY_MINUTES end
  local hour, minute, seconds = string.match(clock, '^[T ]([0-2]%d):([0-5]%d)(.*)$')
  if not hour or tonumber(hour) > 23 or not (seconds == '' or string.match(seconds, '^:[0-5]%d$')) then return nil end
  return day * DAY_MINUTES + hour * 60 + minute
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

local function refuse(format, ...) error(redis.error_reply(string.format(format, ...))) end

local function argument_error(field, value) refuse('KIMCHI_ARGUMENT %s, got: %s', field, tostring(value)) end

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
  -- Of a number of more digits the next one may be itself, and a loop up to it would never end.
  function reader.integer(field, most)
    local text = reader.text(field)
    local number = #text <= 15 and string.match(text, '^%-?%d+$') and tonumber(text)
    if not number then argument_error(field .. ' must be an integer', text) end
    if most and (number < 0 or number >= most) then
      argument_error(string.format('%s must be at least 0 and below %d', field, most), text)
    end
    return number
  end
  function reader.symbol()
    local text = reader.text('symbol')
    if not string.match(text, '^[%w._-]+$') then argument_error('symbol must be letters and digits', text) end
    return string.upper(text)
  end
  -- As a number or as a time.
  function reader.minute(field)
    local minute = minute_of_time(args[next_index + 1] or '')
    if not minute then return reader.integer(field, MINUTES_END) end
    next_index = next_index + 1
    return minute
  end
  -- Two minutes, the second not included.
  function reader.span(longest)
    local from, to = reader.minute('from'), reader.minute('to')
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
    for index = 1, reader.integer(field) do list[index] = read(field) end
    return list
  end
  return reader
end

-- Functions -------------------------------------------------------------------------------------------------

-- Registers work(arguments of a call). Replies what it raises without the place in these files that Redis would add.
local function register(name, flags, work)
  redis.register_function({ function_name = name, flags = flags, callback = function(_, args)
    local ok, result = pcall(work, args)
    if ok then return result end
    return redis.error_reply(string.match(result, '^%u[%u_]+ ') and result or 'ERR ' .. result)
  end })
end

-- Registers work(reader of the arguments) as a function that reads.
local function register_reading(name, work)
  register(name, { 'no-writes' }, function(args) return work(argument_reader(args)) end)
end

-- Reads what a writing call begins with: version prices layout retentionDays. Returns all but the version. Refuses a
-- call that needs a newer library, or brings another kind of prices or another layout than this Redis holds.
local function read_writer(reader)
  local needed = reader.integer('version')
  if needed > VERSION then refuse('KIMCHI_LIBRARY version %d is loaded, %d is needed', VERSION, needed) end
  local prices, layout = reader.text('prices'), reader.text('layout')
  local held = redis.call('HMGET', META, 'prices', 'layout')
  if held[1] and held[1] ~= prices then
    refuse('KIMCHI_PRICES_KIND this Redis holds %s prices, the writer brings %s', held[1], prices)
  end
  if held[2] and held[2] ~= layout then
    refuse('KIMCHI_LAYOUT this Redis holds layout %s, the writer brings %s', held[2], layout)
  end
  return prices, layout, reader.integer('retention', RETENTIONS_END)
end

local function require_rights(commands)
  for command in string.gmatch(commands, '%u+') do
    if not redis.acl_check_cmd(command, command == 'PUBLISH' and CHANNEL or META) then
      refuse('NOPERM this user lacks +%s on {kp}:*', string.lower(command))
    end
  end
end

-- Registers a function that writes. Its arguments begin with: version prices layout retentionDays. work(reader of the
-- others, retention in days) reads them all, and raises what could stop it, before it writes; it calls no other commands
-- than those named. The first call ever decides what this Redis holds.
local function register_writing(name, commands, work)
  register(name, {}, function(args)
    local reader = argument_reader(args)
    require_rights('HMGET HSET TIME TYPE ' .. commands)
    local prices, layout, retention_days = read_writer(reader)
    local reply = work(reader, retention_days)
    redis.call('HSET', META, 'prices', prices, 'layout', layout)
    return reply
  end)
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

-- The array of what pcall(cmsgpack.unpack, …) returns; nil where more than that one value was packed.
local function only_array(ok, fields, ...) return ok and select('#', ...) == 0 and fields or nil end

local function is_price(value) return type(value) == 'number' and value > 0 and value <= MAX_PRICE end

-- The fields of a stored member, or nil when it is no sample of that minute. packages/store/src/codec.ts reads by the
-- same rule. 0x96 begins an array of six.
local function unpack_member(minute, member)
  local fields = string.byte(member) == 0x96 and only_array(pcall(cmsgpack.unpack, member))
  if not fields or fields[1] ~= minute % 60 or not is_integer(fields[1]) then return nil end
  if not (is_price(fields[2]) and is_price(fields[3]) and is_price(fields[4])) then return nil end
  local source = fields[MEMBER_SOURCE]
  return is_integer(fields[MEMBER_PREMIUM]) and (source == 0 or source == CANDLE) and fields or nil
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
  for index, key in ipairs(keys) do
    for minute, fields in pairs(read_hour(key, day * 24 + index - 1, odd)) do
      row = fold(row, minute, fields[MEMBER_PREMIUM])
    end
  end
  return row, odd
end

