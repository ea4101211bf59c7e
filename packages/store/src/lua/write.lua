-- kp_write --------------------------------------------------------------------------------------------------

-- A coin's order in the live list; nil when it is not listed.
local function order_of(coin) return tonumber(string.match(coin or '', '^{"order":(%d+)') or '') end

local function snapshot_of(live_text)
  return live_text and string.match(live_text, '"snapshot_at":"(%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d)"')
end

-- A day whose hours are partly gone (evicted, deleted, expired under a shorter retention) has a row that
-- counts minutes that nobody can see any more: writing them again would count them twice. It is frozen: only
-- minutes after its last are stored. A call counts a day's samples once: what it stores counts in both.
local function is_frozen(write, symbol, day, row, minute)
  if not row or minute > row.last then return false end
  local name = symbol .. ' ' .. day
  if write.frozen[name] == nil then write.frozen[name] = stored_count(symbol, day) < row.samples end
  return write.frozen[name]
end

local function has_minute(key, minute) return redis.call('ZCOUNT', key, minute, minute) > 0 end

-- Returns 'stored', 'duplicate', or why the sample is refused. Meets a key of a wrong type before it has changed
-- anything. A day row that was lost is left to kp_mend_days: to fold those of all coins here would take too long.
local function store_sample(write, sample)
  local symbol, minute, day = sample.symbol, sample.minute, day_of(sample.minute)
  local expiry = expiry_of(day, write.retention)
  if write.now >= expiry then return 'expired' end
  local samples, date = hour_key('samples', symbol, hour_of(minute)), date_of_day(day)
  if has_minute(samples, minute) then return 'duplicate' end
  local row = read_row(symbol, date)
  local is_lost = not row and redis.call('EXISTS', unpack(hour_keys(symbol, day))) > 0
  if is_frozen(write, symbol, day, row, minute) then return 'frozen' end
  redis.call('ZREMRANGEBYSCORE', hour_key('settled', symbol, hour_of(minute)), minute, minute)
  redis.call('ZADD', samples, minute, sample.member)
  redis.call('EXPIREAT', samples, expiry, 'NX')
  if not is_lost then redis.call('HSET', daily_key(symbol), date, format_row(fold(row, minute, sample.premium))) end
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

-- Whether a reason takes the place of the one that is there. A halt does, and whatever is decided of an implausible
-- minute when that is opened; but a library of before tells nothing new of it.
local function replaces(reason, found)
  if reason == 'halted' or found == 'halted' then return found ~= 'halted' end
  return string.find(found, '^implausible') and reason ~= 'implausible' and reason ~= found
end

-- Settles a minute that is not stored; true when it was open. The first reason stays, unless another one replaces it;
-- any replaces one that cannot be read.
local function settle(write, entry)
  local symbol, minute = entry.symbol, entry.minute
  local expiry, settled = expiry_of(day_of(minute), write.retention), hour_key('settled', symbol, hour_of(minute))
  if write.now >= expiry or has_minute(hour_key('samples', symbol, hour_of(minute)), minute) then return false end
  local found = redis.call('ZRANGEBYSCORE', settled, minute, minute)
  local old_reason = #found == 1 and string.match(found[1], '^%d+ (.+)$')
  if old_reason and not replaces(entry.reason, old_reason) then return false end
  redis.call('ZREMRANGEBYSCORE', settled, minute, minute)
  redis.call('ZADD', settled, minute, string.format('%d %s', minute, entry.reason))
  redis.call('EXPIREAT', settled, expiry)
  return #found == 0
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
      symbol = reader.symbol(), minute = reader.integer('minute', MINUTES_END), premium = reader.integer('premium'),
      member = reader.text('member'), live = reader.text('live row'),
    }
  end)
  local entries = reader.list('settled', function()
    return {
      symbol = reader.symbol(), minute = reader.integer('minute', MINUTES_END), reason = reader.text('reason'),
    }
  end)
  local batch = { samples = samples, entries = entries, minute = reader.integer('minute', MINUTES_END) }
  batch.halted = reader.list('halted', reader.symbol)
  for _, key in ipairs({ COINS, LIVE, REVISIONS, HALTED }) do require_type(key, 'hash') end
  require_type(TRACKED, 'zset')
  return batch
end

-- Arguments: samples {symbol minute premiumE4 member liveRow}*   settled {symbol minute reason}*
--            minute   halted {symbol}*
-- The halted coins are those of that minute.
-- Reply: stored, duplicates, settled, removed, how many coins {kp}:coins knows, {'index reason'}* of the
-- refused samples, counted from 1, and the primary's replication id.
local WRITE_COMMANDS = 'HGET HGETALL HDEL HLEN EXISTS ZCARD ZCOUNT ZADD ZRANGEBYSCORE ZREMRANGEBYSCORE EXPIREAT '
  .. 'PUBLISH INFO'
register_writing('kp_write', WRITE_COMMANDS, function(reader, retention_days)
  local batch = read_batch(reader)
  local write = {
    now = redis_seconds(), retention = retention_days, stored = 0, duplicates = 0, refused = {}, changed = {}, frozen = {},
  }
  local newest = hash_number(META, 'newest') or 0
  local newest_stored, settled = store_samples(write, batch.samples), 0
  for _, entry in ipairs(batch.entries) do
    if unless_damaged(settle, write, entry) == true then settled = settled + 1 end
  end
  for symbol in pairs(write.changed) do raise_revision(symbol) end
  local removed = unlist_halted(batch.halted, batch.minute)
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
register_writing('kp_verify', '', function() return 1 end)

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
local function read_announcement(reader)
  local call = { id = reader.text('id'), ttl = reader.integer('ttl', 86400), is_new = reader.integer('isNew') == 1 }
  call.coins = reader.list('coins', function() return { symbol = reader.symbol(), text = reader.text('coin') } end)
  call.denied = reader.list('denied', reader.symbol)
  call.status = reader.list('status', reader.text)
  if #call.status % 2 == 1 then argument_error('status must be pairs', #call.status) end
  call.key = PREFIX .. 'ingester:' .. call.id
  for _, key in ipairs({ TRACKED, DENIED, INGESTERS }) do require_type(key, 'zset') end
  for _, key in ipairs({ COINS, LIVE, call.key }) do require_type(key, 'hash') end
  return call
end

local ANNOUNCE_COMMANDS = 'HGET HGETALL HDEL DEL ZADD ZRANGE ZSCORE ZREMRANGEBYSCORE EXPIRE PUBLISH'
register_writing('kp_announce', ANNOUNCE_COMMANDS, function(reader, retention_days)
  local call = read_announcement(reader)
  local now, key, status = redis_seconds(), call.key, call.status
  redis.call('HSET', META, 'retention', string.format('%d', retention_days))
  keep_listed_after_outage(now, redis.call('HGETALL', COINS))
  for _, symbol in ipairs(call.denied) do redis.call('ZADD', DENIED, now + LISTED_FOR, symbol) end
  for _, coin in ipairs(call.coins) do
    if call.is_new or not order_of(redis.call('HGET', COINS, coin.symbol)) then
      redis.call('HSET', COINS, coin.symbol, coin.text)
    end
    redis.call('ZADD', TRACKED, now + LISTED_FOR, coin.symbol)
  end
  local removed = unlist_lapsed(now)
  if #status > 0 then
    redis.call('DEL', key)
    redis.call('HSET', key, unpack(status))
    redis.call('EXPIRE', key, call.ttl)
    redis.call('ZADD', INGESTERS, now, call.id)
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
register_writing('kp_import_day', 'HGET EXISTS', function(reader, retention_days)
  local symbol, day, row = reader.symbol(), reader.day(), {}
  for _, field in ipairs(ROW_FIELDS) do row[field] = reader.integer(field) end
  if not parse_row(format_row(row)) then argument_error('day row must hold 1 sample or more', format_row(row)) end
  for _, key in ipairs({ daily_key(symbol), REVISIONS }) do require_type(key, 'hash') end
  local date, kept_days = date_of_day(day), known_retention() or retention_days
  if redis_seconds() < expiry_of(day, kept_days) then return -1 end
  if redis.call('EXISTS', unpack(hour_keys(symbol, day))) > 0 then return -1 end
  local old = read_row(symbol, date)
  if old and old.samples >= row.samples then return 0 end
  redis.call('HSET', daily_key(symbol), date, format_row(row))
  raise_revision(symbol)
  return 1
end)
