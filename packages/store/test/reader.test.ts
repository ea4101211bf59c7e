import { once } from 'node:events'
import { DAY_MINUTES, dateOf, foldDays, formatTimestamp } from '@kimchi/core'
import { eventually } from '@kimchi/testkit'
import t from 'tap'
import { LIBRARY_VERSION } from '../src/library.ts'
import { BTC, dailyKey, ETH, openStore, sampleOf, samplesKey } from './fixtures.ts'

// docs/faults.md, 12
t.test('what cannot be read is skipped and counted, the rest is served', async t => {
  const { writer, reader, raw, ask, today } = await openStore(t, { coins: [BTC, ETH] })
  const samples = [sampleOf('BTC', today), sampleOf('BTC', today + 1)]
  await writer.write({ minute: today, samples: [...samples, sampleOf('ETH', today, 5)] })
  await raw.zadd(samplesKey('BTC', dateOf(today), 0), today + 2, Buffer.from([0xc1, 0xff]))
  // A member under the score of another minute would be served as that minute.
  const [member = ''] = await raw.zrangeBuffer(samplesKey('BTC', dateOf(today), 0), 0, '0')
  await raw.zadd(samplesKey('ETH', dateOf(today), 0), today + 7, member)
  await raw.hset(dailyKey('BTC'), '2026-13-01', '{}', '2020-01-01', '{"open":1}', 'x', 'null')
  await raw.hset(dailyKey('BTC'), '2026-02-30', (await raw.hget(dailyKey('BTC'), dateOf(today))) ?? '')
  const row = (await raw.hget('{kp}:live', 'ETH')) ?? ''
  await raw.hset('{kp}:live', 'ETH', row.replace(/"premium_pct":[^,]*/, '"premium_pct":1.23456'))
  await raw.hset('{kp}:coins', 'XRP', 'garbage', 'DOGE', '{"order":-1,"name":"","upbit":"","binance":""}')
  await raw.hset('{kp}:revisions', 'ETH', 'many')

  t.strictSame(await reader.readSamples('BTC', today, today + 5), { entries: samples, corrupt: 1 })
  t.match(await reader.readSamples('ETH', today, today + 9), { entries: { length: 1 }, corrupt: 1 })
  t.match(await ask('kp_samples', 'ETH', today, today + 9), [/live$/, / corrupt$/])
  t.strictSame(await reader.readDays('BTC'), { entries: foldDays(samples), corrupt: 4 })
  const board = await reader.readBoard()
  t.strictSame(
    board.rows.map(row => row.symbol),
    ['BTC'],
  )
  t.equal(board.corrupt, 4)
  t.equal(board.prices, 'live')
  t.strictSame([...board.todayRows.keys()].sort(), ['BTC', 'ETH'])
  await raw.hdel(dailyKey('ETH'), dateOf(today))
  t.match(await ask('kp_check', 'ETH'), [
    /WRONG row is absent, samples fold to .*"samples":1,.* 1 members left out: /,
  ])
})

t.test('open minutes come as ranges, across hours and days', async t => {
  const { writer, reader, today } = await openStore(t, { coins: [] })
  const whole = Array.from({ length: 60 }, (_, at) => today - 60 + at)
  const minutes = [...whole, today + 1, today + 2, today + 125].map(minute => sampleOf('BTC', minute))
  await writer.write({ minute: today, samples: minutes })
  t.strictSame(await reader.readOpenMinutes('BTC', today - 65, today + 130), [
    { start: today - 65, end: today - 60 },
    { start: today, end: today + 1 },
    { start: today + 3, end: today + 125 },
    { start: today + 126, end: today + 130 },
  ])
  t.strictSame(await reader.readOpenMinutes('BTC', today - 30, today), [])
  t.strictSame(await reader.readOpenMinutes('BTC', today, today), [])
  t.strictSame(await reader.readOpenMinutes('NONE', today - 2, today), [{ start: today - 2, end: today }])
})

t.test('who follows the minutes hears when either connection is back, and hears minutes again', async t => {
  const { redis, raw, connection, writer, reader, now } = await openStore(t, {
    appendonly: true,
    coins: [BTC],
  })
  const events = new EventTarget()
  const heard: number[] = []
  reader.followMinutes(
    minute => heard.push(minute),
    () => events.dispatchEvent(new Event('connected')),
  )
  const connected = () => once(events, 'connected', { signal: AbortSignal.timeout(60_000) })
  await connected()
  const commandsBack = connected()
  await raw.client('KILL', 'ID', String(await connection.call('CLIENT', 'ID')))
  await commandsBack
  const messagesBack = connected()
  await raw.client('KILL', 'TYPE', 'PUBSUB')
  await messagesBack
  const bothBack = connected()
  await redis.stop()
  await redis.restart()
  await bothBack
  t.ok(await connection.untilReady(60_000))
  let minute = now - 1_000
  await eventually('a minute, once both are back', async () => {
    minute += 1
    await writer.write({ minute, samples: [sampleOf('BTC', minute)] })
    return heard.length > 0
  })
})

t.test('a history of ten years is printed in parts, each up to a date', async t => {
  const { raw, ask } = await openStore(t, { coins: [BTC] })
  const newest = 20_800
  const dates = Array.from({ length: 3_650 }, (_, ago) => dateOf((newest - ago) * DAY_MINUTES)).reverse()
  const row = '{"open":1,"high":1,"low":1,"close":1,"sum":1,"samples":1,"first":0,"last":0}'
  await raw.hset(dailyKey('BTC'), Object.fromEntries(dates.map(date => [date, row])))
  const part = async (...args: (string | number)[]) =>
    (await ask('kp_history', 'BTC', ...args)).slice(1).map(line => line.slice(0, 10))
  t.strictSame(await part(), dates.slice(-30))
  t.strictSame(await part(400), dates.slice(-400))
  t.strictSame(await part(400, dates[3_000] ?? ''), dates.slice(2_601, 3_001))
  t.strictSame(await part(400, dates[99] ?? ''), dates.slice(0, 100))
  t.strictSame(await part(1, '2000-01-01'), [])
  await t.rejects(part(401), { message: /^KIMCHI_ARGUMENT days must be at least 0 and below 401/ })
  await t.rejects(part(30, 'today'), { message: /^KIMCHI_ARGUMENT date must be YYYY-MM-DD/ })
})

t.test('people at redis-cli get readable answers', async t => {
  const { writer, ask, today } = await openStore(t, { coins: [BTC] })
  await writer.track([ETH])
  await writer.announce('a1', { version: '1.0.0' })
  const samples = [sampleOf('BTC', today - 1, 150_000_123), sampleOf('ETH', today, 140_000_000.5)]
  await writer.write({ minute: today, samples })
  const [yesterday, date] = [dateOf(today - 1), dateOf(today)]

  t.strictSame(await ask('kp_samples', 'BTC', today - 1), [
    `${yesterday}T23:59:00 1.2442% upbit_krw=150000123 binance_usdt=101234.56 usdt_krw=1463.5 live`,
  ])
  t.strictSame(await ask('kp_days', 'ETH'), [
    date,
    `{"open":-55055,"high":-55055,"low":-55055,"close":-55055,"sum":-55055,"samples":1,"first":${today},"last":${today}}`,
  ])
  t.strictSame(await ask('kp_check', 'BTC'), [`${yesterday} ok 1 samples`])
  t.strictSame(await ask('kp_check', 'NONE'), ['no samples of NONE are kept'])
  t.strictSame(await ask('kp_history', 'BTC'), [
    'date       open    high    low     close   avg     samples first last',
    `${yesterday} 1.2442% 1.2442% 1.2442% 1.2442% 1.2442% 1       23:59 23:59`,
  ])
  t.strictSame(await ask('kp_history', 'NONE'), ['no day of NONE is stored'])
  t.strictSame(await ask('kp_history', 'NONE', 30, date), ['no day of NONE is stored'])
})

t.test('kp_check reads the newest days that one call may, and names the first that it does not', async t => {
  const { writer, ask, today } = await openStore(t, { coins: [BTC] })
  const days = [5, 4, 3, 2, 1].map(back => today - back * DAY_MINUTES)
  for (const day of days) {
    const samples = Array.from({ length: DAY_MINUTES }, (_, at) => sampleOf('BTC', day + at))
    await writer.write({ minute: day + DAY_MINUTES - 1, samples })
  }
  const ok = days.map(day => `${dateOf(day)} ok 1440 samples`)
  const [oldest = 0, unread = 0] = days
  const left = `${dateOf(unread)} not read, as that takes long: name it, and each date before it`
  t.strictSame(await ask('kp_check', 'BTC'), [left, ...ok.slice(2)])
  t.strictSame(await ask('kp_check', 'BTC', dateOf(oldest)), ok.slice(0, 1))
})

t.test('kp_gaps prints a line for each gap of a day', async t => {
  const { writer, raw, ask, today } = await openStore(t)
  const yesterday = today - 1_440
  await writer.track([BTC])
  const stored = Array.from({ length: 1_440 }, (_, at) => at).filter(
    at => at !== 60 && (at < 700 || at > 720),
  )
  await writer.write({ minute: today - 1, samples: stored.map(at => sampleOf('BTC', yesterday + at)) })
  const gaps = (...args: string[]) => ask('kp_gaps', ...args)
  const date = dateOf(yesterday)
  t.strictSame(await gaps('BTC', date), [
    `BTC ${date}: 1418 of 1440 minutes stored, 2 gaps`,
    '01:00 to 01:00 1 min  open',
    '11:40 to 12:00 21 min open',
  ])
  const settled = [{ symbol: 'BTC', minute: yesterday + 60, reason: 'no-rate' }] as const
  await writer.write({ minute: yesterday, samples: [], settled })
  t.match(await gaps('BTC', date), [/1418 of 1440/, /^01:00 to 01:00 1 min {2}no-rate$/, / open$/])
  const row = String(await raw.hget(dailyKey('BTC'), date))
  await raw.hset(dailyKey('BTC'), date, row.replace('"samples":1418', '"samples":1419'))
  t.match(await gaps('BTC', date), [/1418 of 1440/, /no-rate/, /stays: the day is frozen/])
  t.match(await gaps('BTC'), [new RegExp(`^BTC ${dateOf(today)}: 0 of \\d+ minutes stored, `)])
  await t.rejects(gaps('BTC', '2026-02-30'), /date must be YYYY-MM-DD, got: 2026-02-30/)
})

t.test('kp_status prints what is stored, each coin and each ingester', async t => {
  const { writer, raw, ask, now } = await openStore(t, { coins: [BTC, ETH, { ...ETH, symbol: 'XRP' }] })
  await writer.announce('host:12', {
    version: '1.0.0',
    held_back:
      "LUNA (quarantined: premium 43.21 % where the market's median is 1.00 %); ETH (implausible: ETHUSDT at 3)",
    gaps_last_minute: '1 behind',
    waiting_minutes: 2,
    redis_problem: 'OOM',
    open_minutes: 7,
    upbit_state: 'up',
    binance_state: 'waiting',
  })
  await writer.announce('gone', { version: '0.9.0' })
  await raw.del('{kp}:ingester:gone')
  await writer.write({ minute: now, samples: [sampleOf('BTC', now)], halted: ['XRP'] })
  await writer.write({ minute: now - 3, samples: [sampleOf('ETH', now - 3)] })
  const lines = await ask('kp_status')
  for (const expected of [
    /^now {9}\S+ UTC$/,
    new RegExp(`^last minute ${formatTimestamp(now)}, \\d+ s ago$`),
    new RegExp(`^prices {6}live, layout 1, library ${LIBRARY_VERSION}$`),
    /^redis {7}accepts writes, \d+ MB, 0 replicas, refused since its start: nothing$/,
    /^coins {7}1 fresh, 1 stale, 1 halted, 0 without a price, 0 left$/,
    new RegExp(`^BTC {2}fresh {7}${formatTimestamp(now)} 1.2442% samples today 1$`),
    new RegExp(`^ETH {2}stale {7}${formatTimestamp(now - 3)} 1.2442% samples today [01]$`),
    /^XRP {2}halted {6}- {19}- {7}samples today 0$/,
    /^LUNA quarantined premium 43.21 % where the market's median is 1.00 %$/,
    /^ETH {2}implausible ETHUSDT at 3$/,
    /^ingester gone {4}heard \d s ago GONE$/,
    /^ingester host:12 heard \d s ago version 1.0.0 upbit up binance waiting gaps 1 behind 2 waiting 7 open problem OOM$/,
  ]) {
    t.match(lines.shift(), expected)
  }
  t.strictSame(lines, [])
})

t.test('a call for more than ten days is refused before Redis is held up', async t => {
  const { reader, ask, today } = await openStore(t, { coins: [] })
  for (const name of ['kp_missing', 'kp_members', 'kp_samples']) {
    await t.rejects(
      ask(name, 'BTC', 29_000_000, 129_000_000),
      { message: /KIMCHI_ARGUMENT to must be at most from \+ \d+, got: 129000000/ },
      name,
    )
  }
  await reader.readSamples('BTC', today, today + 7_200)
  await t.rejects(reader.readSamples('BTC', today, today + 7_201), { message: /at most from \+ 7200, got/ })
  t.strictSame(
    await reader.readOpenMinutes('BTC', today, today + 14_401),
    [0, 14_400].map(at => ({ start: today + at, end: today + Math.min(at + 14_400, 14_401) })),
    'a reader asks in parts',
  )
})
