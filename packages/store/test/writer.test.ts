import { type Day, dateOf, foldDays, type Sample } from '@kimchi/core'
import t from 'tap'
import { BTC, dailyKey, ETH, mendUncounted, openStore, sampleOf, samplesKey, writerOn } from './fixtures.ts'

t.test('the minute is published only when something was stored or removed', async t => {
  const { redis, writer, now } = await openStore(t)
  const heard: string[] = []
  const listener = redis.client()
  await listener.subscribe('{kp}:minute')
  listener.on('message', (_, minute) => heard.push(minute))
  const write = (samples: Sample[], halted: string[] = []) => writer.write({ minute: now, samples, halted })
  await write([])
  await write([sampleOf('BTC', now - 1)])
  await write([sampleOf('BTC', now - 1)])
  await write([sampleOf('BTC', now - 5), sampleOf('BTC', now - 4)])
  await write([], ['BTC'])
  await write([], ['BTC'])
  await listener.ping()
  t.strictSame(heard.slice(0, 2), [String(now - 1), String(now - 4)])
  t.equal(heard.length, 3)
})

t.test('all hours of a UTC day expire at one instant, and nothing is stored in an expired day', async t => {
  const { writer, reader, raw, log, today } = await openStore(t)
  const oldest = today - 8 * 1440
  const samples = [0, 61, 1439].map(at => sampleOf('BTC', oldest + at))
  t.match(await writer.write({ minute: today, samples }), { stored: 3 })
  const keys = await raw.keys('{kp}:samples:*')
  const instants = await Promise.all(keys.map(key => raw.call('EXPIRETIME', key)))
  t.strictSame(
    instants,
    [1, 2, 3].map(() => (today + 1440) * 60),
  )

  const expired = [sampleOf('BTC', oldest - 1), sampleOf('BTC', oldest)]
  t.match(await writer.write({ minute: today, samples: expired }), {
    stored: 0,
    duplicates: 1,
    refused: [{ symbol: 'BTC', minute: oldest - 1, reason: 'expired' }],
  })
  t.strictSame((await reader.readDays('BTC')).entries, foldDays(samples))
  t.equal(await raw.hget('{kp}:revisions', 'BTC'), '1', 'one write has changed its days')
  t.match(log.lines.at(-1), { level: 'warn', message: /day has expired/, fields: { samples: 1 } })
})

// docs/faults.md, 63
t.test('absent and unreadable day rows are folded again from their samples', async t => {
  const { writer, reader, raw, ask, today } = await openStore(t, { coins: [BTC, ETH] })
  const days = [7, 6, 5, 4, 3, 2, 1, 0].map(back => today - back * 1_440)
  const samplesOf = (symbol: string) => days.map(day => sampleOf(symbol, day))
  await writer.write({ minute: today, samples: [...samplesOf('BTC'), ...samplesOf('ETH')] })
  await writer.importDay('BTC', dayOf('2020-02-29', 5))
  t.strictSame(await writer.mendDays('BTC', 0, 1), [], 'all is well')
  const before = (await reader.readBoard()).revisions
  await raw.del(dailyKey('BTC'))
  const row = { open: 1, high: 1, low: 1, close: 1, sum: 1, samples: 1, first: 1, last: 1 }
  const sums = [2 ** 53, -(2 ** 53)].map(sum => ({ ...row, sum }))
  const garbage = ['{"open":1}', { ...row, samples: 0 }, { ...row, first: 2 }, ...sums]
  for (const [at, day] of days.entries()) {
    await raw.hset(dailyKey('ETH'), dateOf(day), JSON.stringify(garbage[at % garbage.length]))
  }
  const check = () => ask('kp_check', 'BTC')
  t.match(
    await check(),
    Array(8).fill(/WRONG row is absent, samples fold to .* mends the day within 10 minutes$/),
  )
  for (const symbol of ['BTC', 'ETH']) {
    t.strictSame(await mendUncounted(writer, symbol), days.map(dateOf))
    t.strictSame(await mendUncounted(writer, symbol), [])
    t.strictSame(await reader.readDays(symbol), { entries: foldDays(samplesOf(symbol)), corrupt: 0 })
    const revision = (await reader.readBoard()).revisions.get(symbol) ?? 0
    t.ok(revision > (before.get(symbol) ?? 0), 'the API reads its days again')
  }
  t.match(await check(), Array(8).fill(/ ok 1 samples$/))
  const { revisions } = await reader.readBoard()
  await raw.hdel(dailyKey('BTC'), dateOf(today))
  await writer.mendDays('BTC', 0, 1)
  t.strictSame((await reader.readBoard()).revisions, revisions, 'today is read every minute anyway')
  await raw.set(dailyKey('BTC'), 'damaged')
  t.strictSame(await writer.mendDays('BTC', 0, 1), [], 'a damaged coin is passed over')
})

t.test('simulated prices never mix into real history, nor one layout into another', async t => {
  const { connection, writer, reader, raw, now } = await openStore(t, { coins: [BTC] })
  const simulated = writerOn(connection, { prices: 'simulated' })
  const refusal = {
    code: 'KIMCHI_ERR_PRICES_KIND',
    message: /^this Redis holds live prices, the writer brings simulated$/,
  }
  await t.rejects(simulated.write({ minute: now, samples: [sampleOf('BTC', now)] }), refusal)
  await t.rejects(simulated.verify(), refusal)
  await t.rejects(simulated.track([ETH]), refusal)
  await t.rejects(simulated.importDay('BTC', dayOf('2020-02-29', 1)), refusal)
  t.strictSame((await raw.keys('*')).sort(), ['{kp}:coins', '{kp}:meta', '{kp}:tracked'])
  await raw.hset('{kp}:meta', 'layout', 2)
  await t.rejects(writer.verify(), { code: 'KIMCHI_ERR_LAYOUT' })
  await t.rejects(reader.readBoard(), { code: 'KIMCHI_ERR_LAYOUT', message: /holds layout 2/ })
})

t.test('an old day is imported whole, only for more samples, by the retention of the ingesters', async t => {
  const { connection, writer, reader, raw, log, today } = await openStore(t)
  const imported = (ago: number, samples: number, by = writer) =>
    by.importDay('BTC', dayOf(dateOf(today - ago * 1440), samples))
  t.equal(await writer.importDay('BTC', dayOf('2020-02-29', 5)), 'stored')
  t.equal(await writer.importDay('BTC', dayOf('2020-02-29', 5)), 'duplicate')
  t.equal(await writer.importDay('BTC', dayOf('2020-02-29', 6)), 'stored')
  t.equal(await imported(9, 1), 'stored')
  t.equal(await imported(8, 1), 'refused')
  t.strictSame(
    (await reader.readDays('BTC')).entries.map(day => [day.date, day.samples]),
    [
      ['2020-02-29', 6],
      [dateOf(today - 9 * 1440), 1],
    ],
  )
  t.equal(await raw.hget('{kp}:revisions', 'BTC'), '3')
  await t.rejects(writer.importDay('BTC', dayOf('2021-02-29', 1)), { code: 'KIMCHI_ERR_CODEC' })

  await writer.track([BTC])
  const longer = writerOn(connection, { retentionDays: 30, log })
  await longer.verify()
  t.equal(await imported(9, 2, longer), 'stored')
  const samples = [0, 1, 2].map(at => sampleOf('BTC', today - 20 * 1440 + at))
  await longer.write({ minute: today, samples })
  t.equal(await raw.hget('{kp}:meta', 'retention'), '8', 'only an announcement changes it')
  t.equal(await imported(20, 1440), 'refused', 'samples of it are still stored')
  await raw.hset('{kp}:meta', 'retention', 20)
  t.equal(await imported(9, 3), 'refused')
})

t.test('Redis knows the calendar: the first and the last day of every month from 1970 to 2400', async t => {
  const { writer, reader, today } = await openStore(t)
  const firsts = Array.from({ length: 430 * 12 }, (_, month) => Date.UTC(1970, month + 1) / 60_000)
  const [past, future] = [
    firsts.filter(first => first < today - 10_000),
    firsts.filter(first => first > today),
  ]
  const refused: string[] = []
  for (const date of past.flatMap(first => [dateOf(first - 1), dateOf(first)])) {
    if ((await writer.importDay('ETH', dayOf(date, 1))) !== 'stored') refused.push(date)
  }
  t.strictSame(refused, [])
  const samples = future.flatMap(first => [first - 1, first]).map(minute => sampleOf('BTC', minute))
  for (let at = 0; at < samples.length; at += 1_000) {
    await writer.write({ minute: today, samples: samples.slice(at, at + 1_000) })
  }
  t.strictSame(await reader.readDays('BTC'), { entries: foldDays(samples), corrupt: 0 })
})

// docs/faults.md, 11
t.test('the library and the coins come back after FUNCTION FLUSH and FLUSHALL', async t => {
  const { writer, reader, raw, now } = await openStore(t)
  await t.rejects(reader.readBoard(), { code: 'KIMCHI_ERR_NOT_READY' })
  await writer.track([BTC])
  await raw.call('FUNCTION', 'FLUSH')
  await t.rejects(reader.readBoard(), { code: 'KIMCHI_ERR_NOT_READY' })
  t.match(await writer.write({ minute: now, samples: [sampleOf('BTC', now)] }), { stored: 1 })
  await raw.flushall()
  t.strictSame((await reader.readBoard()).rows, [])
  t.match(await writer.write({ minute: now, samples: [sampleOf('BTC', now)] }), { stored: 1 })
  t.match((await reader.readBoard()).coins, [BTC])
  t.match(await raw.hget('{kp}:live', 'BTC'), /"name":"Bitcoin"/)
})

t.test('an hour stays in the compact encoding, however large the batch', async t => {
  const { writer, reader, raw, today } = await openStore(t)
  const start = today - 2 * 1440
  const samples = Array.from({ length: 2_400 }, (_, at) => sampleOf('BTC', start + at, 150_000_000.25 + at))
  t.match(await writer.write({ minute: today, samples }), { stored: 2_400 })
  t.equal(await raw.object('ENCODING', samplesKey('BTC', dateOf(start), 13)), 'listpack')
  t.strictSame((await reader.readDays('BTC')).entries, foldDays(samples))
  t.strictSame(await reader.readOpenMinutes('BTC', start - 5, start + 2_405), [
    { start: start - 5, end: start },
    { start: start + 2_400, end: start + 2_405 },
  ])
})

function dayOf(date: string, samples: number): Day {
  const [firstMinute, lastMinute] = [26_382_240, 26_383_679]
  return { date, open: -1, high: 5, low: -7, close: 2, sum: 3, samples, firstMinute, lastMinute }
}
