-- What redis-cli prints for people. This is the end of kimchi.lua: Redis loads both files as one library.

-- The fewest digits that read back as the same number.
local function price_text(price)
  for digits = 15, type(price) == 'number' and 17 or 0 do
    local text = string.format('%.' .. digits .. 'g', price)
    if tonumber(text) == price then return text end
  end
  return '?'
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

-- One day's verdict; nil when no samples of it are kept.
local function check_day(symbol, date, text, retention_days)
  local day = day_of_date(date)
  if not day then return 'WRONG not a date' end
  local row, count = parse_row(text), stored_count(symbol, day)
  local is_kept = text and redis_seconds() < expiry_of(day, retention_days)
  if count == 0 and not is_kept then return nil end
  local folded, corrupt = fold_stored(symbol, day)
  if row and count < row.samples then
    return string.format('FROZEN row counts %d, %d are stored: only minutes after %s are stored from now on',
      row.samples, count, timestamp_of(row.last))
  end
  local expected = folded and format_row(folded) or 'nothing readable'
  if text == expected and corrupt == 0 then return string.format('ok %d samples', row.samples) end
  return string.format('WRONG row %s, samples fold to %s, corrupt members %d%s', text or 'is absent', expected, corrupt,
    row and count == row.samples and '' or ': an ingester writes the row again within ' .. (row and 'an hour' or '10 minutes'))
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
      for _, kind in ipairs({ 'samples', 'settled' }) do require_type(hour_key(kind, symbol, hour), 'zset') end
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

-- The minutes without a sample from one minute to another, the end not included, as ranges of one reason each,
-- and how many minutes are stored.
local function gaps_of(symbol, from, to, refused)
  local gaps, stored, known = {}, 0, {}
  for minute = from, to - 1 do
    if minute % 60 == 0 then known = known_minutes(symbol, hour_of(minute), { 'samples', 'settled' }) end
    local reason = known[minute] or (minute < refused and 'stays: the day is frozen or no longer kept' or 'open')
    local last = gaps[#gaps]
    if reason == 'stored' then
      stored = stored + 1
    elseif last and last.past == minute and last.reason == reason then
      last.past = minute + 1
    else
      gaps[#gaps + 1] = { from = minute, past = minute + 1, reason = reason }
    end
  end
  return gaps, stored
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
  local gaps, stored = gaps_of(symbol, from, to, refused_until(symbol, day, known_retention()))
  local rows = {}
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

-- The ingesters that announced anything within MISSED seconds, by id, each with its status hash.
local function known_ingesters()
  local list = {}
  for id, heard in each_pair(redis.call('ZRANGE', INGESTERS, 0, -1, 'WITHSCORES')) do
    append(list, { id = id, heard = tonumber(heard), fields = hash_of(PREFIX .. 'ingester:' .. id) })
  end
  table.sort(list, function(a, b) return a.id < b.id end)
  return list
end

-- All coins ever tracked, in live order, the unlisted ones last.
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

-- Quarantined pairs, each once.
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

-- Ages are as of the ingester's last announcement.
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
  local heard = age_text(math.max(0, now - ingester.heard)) .. ' ago'
  if next(fields) == nil then return { { name, 'GONE', 'heard ' .. heard } } end
  local rows = {
    { name, 'heard ' .. heard, 'version ' .. or_none(fields.version), 'since ' .. or_none(fields.started_at) },
  }
  for _, exchange in ipairs({ 'upbit', 'binance' }) do
    if fields[exchange .. '_state'] then rows[#rows + 1] = feed_row(exchange, fields) end
  end
  append(rows, {
    '  minutes', 'last ' .. or_none(fields.last_minute), 'gaps in it ' .. or_none(fields.gaps_last_minute),
  }, {
    '  queue', (fields.waiting_minutes or '-') .. ' waiting', 'written to ' .. or_none(fields.last_written_minute),
    'problem ' .. or_none(fields.redis_problem),
  }, {
    '  backfill', (fields.open_minutes or '-') .. ' open',
    'coins waiting ' .. or_none(fields.backfill_waiting_coins), drift_text(fields),
  })
  return rows
end

local function minute_of_meta(now)
  local minute = hash_number(META, 'newest')
  if not minute then return '', 'none yet' end
  local text = timestamp_of(minute)
  return text, string.format('%s, %s ago', text, age_text(math.max(0, now - minute * 60)))
end

-- Reply: everything at a glance.
local function kp_status()
  local meta, now = redis.call('HMGET', META, 'prices', 'layout'), redis_seconds()
  local newest, newest_text = minute_of_meta(now)
  local ingesters = known_ingesters()
  local coins, counts = coin_rows(newest)
  local quarantined = quarantine_rows(ingesters)
  local lines = aligned({
    { 'now', timestamp_of(math.floor(now / 60)) .. ' UTC' },
    { 'last minute', newest_text },
    { 'prices', string.format('%s, layout %s, library %d', meta[1] or 'none yet', meta[2] or 'none yet', VERSION) },
    { 'coins', string.format('%d fresh, %d stale, %d without a price, %d quarantined, %d left',
      counts.fresh or 0, counts.stale or 0, counts['no price'] or 0, #quarantined, counts.left or 0) },
  })
  append(coins, unpack(quarantined))
  append(lines, unpack(aligned(coins)))
  for _, ingester in ipairs(ingesters) do append(lines, unpack(aligned(ingester_rows(ingester, now)))) end
  return lines
end

register_reading('kp_samples', kp_samples)
register_reading('kp_history', kp_history)
register_reading('kp_gaps', kp_gaps)
register_reading('kp_check', kp_check)
register_reading('kp_status', kp_status)
