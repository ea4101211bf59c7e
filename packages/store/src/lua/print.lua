-- For people who read redis-cli --------------------------------------------------------------------------------

-- The fewest digits that read back as the same number.
local function price_text(price)
  local digits = 15
  while tonumber(string.format('%.' .. digits .. 'g', price)) ~= price do digits = digits + 1 end
  return string.format('%.' .. digits .. 'g', price)
end

local function percent_text(premium)
  local magnitude = math.abs(premium)
  return string.format(
    '%s%d.%04d%%', premium < 0 and '-' or '', math.floor(magnitude / 10000), magnitude % 10000)
end

-- Rows of cells as lines with aligned columns; the last cell of a row is not padded.
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

local function clock_text(minute) return string.sub(timestamp_of(minute), 12, 16) end

-- Arguments: symbol [from [to]], minutes, dates or times; an hour without the last, at most 12; without both the last
-- hour.
-- Reply: one readable line per sample.
register_reading('kp_samples', function(reader)
  local symbol = reader.symbol()
  local from = reader.has_more() and reader.minute('from') or math.floor(redis_seconds() / 60) - 59
  local to = reader.has_more() and reader.minute('to') or from + 60
  check_span(from, to, DAY_MINUTES / 2)
  local rows = {}
  each_member(symbol, from, to, function(minute, member)
    local fields = unpack_member(minute, member)
    rows[#rows + 1] = fields and {
      timestamp_of(minute), percent_text(fields[MEMBER_PREMIUM]), 'upbit_krw=' .. price_text(fields[2]),
      'binance_usdt=' .. price_text(fields[3]), 'usdt_krw=' .. price_text(fields[4]),
      fields[MEMBER_SOURCE] == CANDLE and 'candle' or 'live',
    } or { timestamp_of(minute), 'corrupt' }
  end)
  return aligned(rows)
end)

-- Rounded half away from zero, as the published mean is.
local function mean_text(row)
  local magnitude = math.floor((2 * math.abs(row.sum) + row.samples) / (2 * row.samples))
  return percent_text(row.sum < 0 and -magnitude or magnitude)
end

-- Nobody else is served while Redis prints, and years of days would take long.
local MAX_DAYS = 400

-- Arguments: symbol [days [date]], without them the newest 30, with both those up to that date. Reply: one readable
-- line per day, after one of names.
register_reading('kp_history', function(reader)
  local symbol = reader.symbol()
  local dates, texts = sorted_hash(daily_key(symbol))
  local wanted = reader.has_more() and reader.integer('days', MAX_DAYS + 1) or 30
  local last, newest = reader.has_more() and date_of_day(reader.day()) or dates[#dates], #dates
  while newest > 0 and dates[newest] > last do newest = newest - 1 end
  local rows = { { 'date', 'open', 'high', 'low', 'close', 'avg', 'samples', 'first', 'last' } }
  for index = math.max(1, newest - wanted + 1), newest do
    local row = parse_row(texts[dates[index]])
    rows[#rows + 1] = row and {
      dates[index], percent_text(row.open), percent_text(row.high), percent_text(row.low),
      percent_text(row.close), mean_text(row), string.format('%d', row.samples), clock_text(row.first),
      clock_text(row.last),
    } or { dates[index], 'corrupt' }
  end
  return #dates > 0 and aligned(rows) or { 'no day of ' .. symbol .. ' is stored' }
end)

-- One day's verdict; nil when no samples of it are kept.
local function check_day(symbol, day, retention_days)
  local text = redis.call('HGET', daily_key(symbol), date_of_day(day))
  local row, count = parse_row(text), stored_count(symbol, day)
  local is_kept = redis_seconds() < expiry_of(day, retention_days)
  if count == 0 and not (text and is_kept) then return nil end
  if row and count < row.samples then
    return string.format('FROZEN row counts %d, %d are stored: only minutes after %s are stored from now on',
      row.samples, count, timestamp_of(row.last))
  end
  local folded, odd = fold_stored(symbol, day)
  local expected = folded and format_row(folded) or 'nothing readable'
  if text == expected and #odd == 0 then return string.format('ok %d samples', row.samples) end
  local mended = is_uncounted(symbol, day) and 'within 10 minutes' or 'within an hour'
  return string.format('WRONG row %s, samples fold to %s, %d members left out: %s', text or 'is absent', expected, #odd,
    is_kept and 'an ingester mends the day ' .. mended or 'stays, for the day is no longer kept')
end

-- Of so many members kp_check makes rows in one call: a day's take some 5 ms.
local MAX_CHECKED = 3 * DAY_MINUTES

-- Arguments: symbol [date], without it the newest days whose samples are kept, ten at most. Reads every member. Reply:
-- one line a day: is its row the fold of them? An error names a key of a wrong type.
register_reading('kp_check', function(reader)
  local symbol, newest, retention_days = reader.symbol(), today(), known_retention() or 0
  require_type(daily_key(symbol), 'hash')
  local oldest = math.max(newest - retention_days, newest - MAX_SPAN / DAY_MINUTES + 1)
  if reader.has_more() then
    newest = reader.day()
    oldest = newest
  end
  local lines, members = {}, 0
  for day = newest, oldest, -1 do
    for hour = day * 24, day * 24 + 23 do
      for _, kind in ipairs({ 'samples', 'settled' }) do require_type(hour_key(kind, symbol, hour), 'zset') end
    end
    members = members + stored_count(symbol, day)
    if day < newest and members > MAX_CHECKED then
      table.insert(lines, 1, date_of_day(day) .. ' not read, as that takes long: name it, and each date before it')
      break
    end
    local verdict = check_day(symbol, day, retention_days)
    if verdict then table.insert(lines, 1, date_of_day(day) .. ' ' .. verdict) end
  end
  return #lines > 0 and lines or { 'no samples of ' .. symbol .. ' are kept' }
end)

-- Arguments: symbol [date], without it today. Reply: how whole the day is so far, and a line per gap.
register_reading('kp_gaps', function(reader)
  local symbol = reader.symbol()
  local day = reader.has_more() and reader.day() or today()
  local from = day * DAY_MINUTES
  local to = math.max(from, math.min(from + DAY_MINUTES, math.floor(redis_seconds() / 60)))
  local gaps, stored, rows = gaps_of(symbol, from, to, {}), to - from, {}
  for _, gap in ipairs(gaps) do
    local minutes = gap.past - gap.first
    stored = stored - minutes
    rows[#rows + 1] = {
      clock_text(gap.first), 'to ' .. clock_text(gap.past - 1), string.format('%d min', minutes), gap.reason,
    }
  end
  local lines = aligned(rows)
  table.insert(lines, 1, string.format('%s %s: %d of %d minutes stored, %d gaps', symbol, date_of_day(day), stored,
    to - from, #gaps))
  return lines
end)

-- One row per coin ever tracked, and how many there are of each state. A coin is fresh when it has the newest minute of
-- all.
local function coin_rows(newest)
  local live, halted, date, rows, counts = hash_of(LIVE), hash_of(HALTED), date_of_day(today()), {}, {}
  local symbols, coins = sorted_hash(COINS)
  for _, symbol in ipairs(symbols) do
    local text = live[symbol]
    local snapshot, premium = snapshot_of(text), text and string.match(text, '"premium_pct":(-?[%d.e-]+)')
    local state = snapshot and (snapshot >= newest and 'fresh' or 'stale') or 'no price'
    if halted[symbol] and not snapshot then state = 'halted' end
    if not order_of(coins[symbol]) then state = 'left' end
    local row = unless_damaged(read_row, symbol, date)
    rows[#rows + 1] = {
      symbol, state, snapshot or '-', premium and premium .. '%' or '-',
      row == 'damaged' and 'a damaged key, see kp_check' or string.format('samples today %d', row and row.samples or 0),
    }
    counts[state] = (counts[state] or 0) + 1
  end
  return rows, counts
end

-- Adds the coins that an ingester names as `SYMBOL (reason: in words); …`, each once.
local function add_named(rows, text)
  for entry in string.gmatch(text or '', '[^;]+') do
    local symbol, reason, words = string.match(entry, '^ *(%S+) %((%S+): (.*)%)$')
    if symbol and not rows[symbol] then
      rows[symbol] = true
      rows[#rows + 1] = { symbol, reason, words }
    end
  end
end

-- By these errors a server refuses a write or a user. It counts them since its start.
local REFUSALS = { 'OOM', 'MISCONF', 'NOREPLICAS', 'NOPERM', 'WRONGPASS' }

-- How the server of these keys is doing, and whether it refuses what an ingester writes, or may do so.
local function server_text()
  local info, causes, refused = {}, {}, {}
  local text = redis.call('INFO', 'memory', 'persistence', 'replication', 'errorstats')
  for field, value in string.gmatch(text, '([%w_]+):([^\r\n]*)') do info[field] = value end
  local used, max = tonumber(info.used_memory), tonumber(info.maxmemory)
  local counted = used - (tonumber(info.mem_not_counted_for_evict) or 0)
  if max > 0 and counted > max and info.maxmemory_policy == 'noeviction' then append(causes, 'its memory is full') end
  if info.aof_last_write_status == 'err' then append(causes, 'its last write to disk failed') end
  if info.rdb_last_bgsave_status == 'err' then append(causes, 'its last save failed') end
  if info.min_slaves_good_slaves == '0' then append(causes, 'it reaches no replica') end
  if info.role == 'slave' then append(causes, 'it is a replica') end
  for _, code in ipairs(REFUSALS) do
    local count = string.match(info['errorstat_' .. code] or '', 'count=(%d+)')
    if count then append(refused, count .. ' ' .. code) end
  end
  local megabytes = max > 0 and string.format('%d of %d MB', used / 1048576, max / 1048576)
    or string.format('%d MB', used / 1048576)
  return string.format('%s, %s, %s replicas, refused since its start: %s',
    #causes > 0 and 'REFUSES writes: ' .. table.concat(causes, ', ') or 'accepts writes', megabytes,
    info.connected_slaves, #refused > 0 and table.concat(refused, ', ') or 'nothing'), #causes + #refused > 0
end

local function ingester_row(id, age, fields, is_refusing)
  local heard = 'heard ' .. age_text(age) .. ' ago'
  if next(fields) == nil then return { 'ingester', id, heard, is_refusing and 'gone, or refused: see its /ready' or 'GONE' } end
  local function field(name) return fields[name] and fields[name] ~= '' and fields[name] or '-' end
  return {
    'ingester', id, heard, 'version ' .. field('version'), 'upbit ' .. field('upbit_state'),
    'binance ' .. field('binance_state'), 'gaps ' .. field('gaps_last_minute'), field('waiting_minutes') .. ' waiting',
    field('open_minutes') .. ' open', 'problem ' .. field('redis_problem'),
  }
end

-- Reply: everything at a glance.
register_reading('kp_status', function()
  local meta, now, minute = redis.call('HMGET', META, 'prices', 'layout'), redis_seconds(), hash_number(META, 'newest')
  local newest = minute and timestamp_of(minute) or ''
  local coins, counts = coin_rows(newest)
  local ingesters, held = {}, {}
  local server, is_refusing = server_text()
  for id, heard in each_pair(redis.call('ZRANGE', INGESTERS, 0, -1, 'WITHSCORES')) do
    local fields = hash_of(PREFIX .. 'ingester:' .. id)
    ingesters[#ingesters + 1] = ingester_row(id, math.max(0, now - tonumber(heard)), fields, is_refusing)
    add_named(held, fields.held_back)
  end
  table.sort(ingesters, function(a, b) return a[2] < b[2] end)
  local lines = aligned({
    { 'now', timestamp_of(math.floor(now / 60)) .. ' UTC' },
    { 'last minute', minute and newest .. ', ' .. age_text(math.max(0, now - minute * 60)) .. ' ago' or 'none yet' },
    { 'prices', string.format('%s, layout %s, library %d', meta[1] or 'none yet', meta[2] or 'none yet', VERSION) },
    { 'redis', server },
    { 'coins', string.format('%d fresh, %d stale, %d halted, %d without a price, %d left',
      counts.fresh or 0, counts.stale or 0, counts.halted or 0, counts['no price'] or 0, counts.left or 0) },
  })
  append(coins, unpack(held))
  append(lines, unpack(aligned(coins)))
  append(lines, unpack(aligned(ingesters)))
  return lines
end)
