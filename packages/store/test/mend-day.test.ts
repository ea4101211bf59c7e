import { dateOf, foldDays, type Sample } from '@kimchi/core'
import t, { type Test } from 'tap'
import { encodeSample } from '../src/codec.ts'
import {
  BTC,
  dailyKey,
  mendUncounted,
  openStore,
  sampleOf,
  samplesKey,
  settledKey,
  writerOn,
} from './fixtures.ts'

/** A closed day of four samples in two hours. */
async function openDay(t: Test) {
  const store = await openStore(t, { coins: [BTC] })
  const { writer, reader, raw, ask, today } = store
  const [start, date] = [today - 1_440, dateOf(today - 1_440)]
  const samples = [0, 1, 60, 61].map(at => sampleOf('BTC', start + at))
  await writer.write({ minute: start + 61, samples })
  const rowOf = () => raw.hget(dailyKey('BTC'), date)
  return {
    ...{ ...store, start, date, samples, rowOf },
    mendUncounted: () => mendUncounted(writer, 'BTC'),
    mend: () => writer.mendDays('BTC', 0, 1),
    check: (...args: string[]) => ask('kp_check', 'BTC', ...args),
    add: (hour: number, minute: number, member: Buffer) =>
      raw.zadd(samplesKey('BTC', date, hour), minute, member),
    stored: async () => (await reader.readSamples('BTC', start, today)).entries,
  }
}

for (const [name, kept, other] of [
  ['the live one', { source: 'live', upbitKrw: 151_000_000 }, { source: 'candle', upbitKrw: 150_000_000 }],
  [
    'the smaller bytes',
    { source: 'candle', upbitKrw: 150_000_000 },
    { source: 'candle', upbitKrw: 151_000_000 },
  ],
] as const) {
  // docs/faults.md, 63
  t.test(`of two samples of one minute ${name} stays and counts once`, async t => {
    const { start, raw, date, samples, mendUncounted, check, add, stored, reader } = await openDay(t)
    const second = (fields: Partial<Sample>): Sample => {
      const { upbitKrw = 0, ...others } = fields
      return { ...sampleOf('BTC', start + 60, upbitKrw), ...others }
    }
    await raw.zremrangebyscore(samplesKey('BTC', date, 1), start + 60, start + 60)
    for (const fields of [other, kept]) await add(1, start + 60, encodeSample(second(fields)))
    t.match(await check(date), [/ WRONG row .*, 1 members left out: /])
    t.strictSame(await mendUncounted(), [date])
    const expected = samples.map(each => (each.minute === start + 60 ? second(kept) : each))
    t.strictSame(await stored(), expected)
    t.strictSame((await reader.readDays('BTC')).entries, foldDays(expected))
    t.match(await check(date), [/ ok 4 samples$/])
  })
}

// docs/faults.md, 115
t.test('a lost hour that odd members hide is open again when its day is mended', async t => {
  const { writer, reader, raw, start, date, samples, mendUncounted, mend, check, add } = await openDay(t)
  await raw.del(samplesKey('BTC', date, 0))
  await add(1, start + 62, Buffer.from('garbage'))
  await add(1, start + 1, encodeSample(sampleOf('BTC', start + 1, 5)))
  t.strictSame(await mendUncounted(), [], 'the counts are equal')
  const again = sampleOf('BTC', start)
  t.match(await writer.write({ minute: start, samples: [again] }), { stored: 1 })
  t.match(await check(), [/ WRONG row .*, 2 members left out: an ingester mends the day within an hour$/])
  t.strictSame(await mend(), [date])
  const left = [again, ...samples.slice(2)]
  t.strictSame((await reader.readDays('BTC')).entries, foldDays(left))
  t.strictSame(await reader.readOpenMinutes('BTC', start + 1, start + 2), [
    { start: start + 1, end: start + 2 },
  ])
  t.match(await check(), [/ ok 3 samples$/])
})

t.test(
  'mending gives hours the expiry that they lost, and all of them that of a longer retention',
  async t => {
    const { raw, date, start, writer, connection, today } = await openDay(t)
    const settled = [{ symbol: 'BTC', minute: start + 5, reason: 'no-rate' }] as const
    await writer.write({ minute: start, samples: [], settled })
    const keys = [samplesKey('BTC', date, 0), samplesKey('BTC', date, 1), settledKey('BTC', date, 0)]
    for (const key of [keys[0], keys[2]]) await raw.persist(String(key))
    await writerOn(connection, { retentionDays: 10 }).mendDays('BTC', 0, 1)
    const expiries = await Promise.all(keys.map(key => raw.call('EXPIRETIME', key)))
    t.strictSame(expiries, Array(3).fill((today + 10 * 1_440) * 60))
  },
)

// docs/faults.md, 114
t.test('a write folds no day, however many rows are lost, and one look a day mends them', async t => {
  const { writer, reader, raw, today } = await openStore(t)
  const coins = Array.from({ length: 20 }, (_, at) => ({ ...BTC, symbol: `C${at}` }))
  await writer.track(coins)
  const minutes = [today - 1_440, today - 1_439, today - 1_438, today - 1_437]
  const samplesOf = (minute: number) => coins.map(({ symbol }) => sampleOf(symbol, minute))
  await writer.write({ minute: today, samples: minutes.slice(0, 2).flatMap(samplesOf) })
  for (const { symbol } of coins) await raw.del(dailyKey(symbol))
  await raw.hset(dailyKey('C0'), dateOf(today - 1_440), 'garbage')
  await raw.call('CONFIG', 'RESETSTAT')
  t.match(await writer.write({ minute: today, samples: minutes.slice(2).flatMap(samplesOf) }), { stored: 40 })
  t.notMatch(await raw.info('commandstats'), /cmdstat_(zrange|hincrby)/, 'no sample was read')
  t.strictSame(await mendUncounted(writer, 'C0'), [dateOf(today - 1_440)])
  const expected = foldDays(minutes.map(minute => sampleOf('C0', minute)))
  t.strictSame(await reader.readDays('C0'), { entries: expected, corrupt: 0 })
})

// docs/faults.md, 114
t.test('a call folds two days at most, and the next goes on', async t => {
  const { writer, reader, raw, today } = await openStore(t, { coins: [BTC] })
  const days = [8, 7, 6, 5, 4, 3, 2, 1, 0].map(back => today - back * 1_440)
  const samples = days.map(day => sampleOf('BTC', day))
  await writer.write({ minute: today, samples })
  const folds = async () =>
    Number(/cmdstat_zrange:calls=(\d+)/.exec(await raw.info('commandstats'))?.[1] ?? 0) / 24
  const call = (turn: number, turns: number, from: string) =>
    raw.call('FCALL', ['kp_mend_days', 1, '{kp}:meta', 12, 'live', 1, 8, 'BTC', turn, turns, from])
  const [oldest = 0, next = 0, third = 0] = days
  await raw.del(dailyKey('BTC'))
  await raw.call('CONFIG', 'RESETSTAT')
  t.strictSame(await call(0, 1, '1970-01-01'), [[dateOf(oldest), dateOf(next)], dateOf(third)])
  t.equal(await folds(), 2)
  t.strictSame(await writer.mendDays('BTC', 0, 1), days.slice(2).map(dateOf))
  t.strictSame((await reader.readDays('BTC')).entries, foldDays(samples))
  t.equal(await folds(), 2 + 9)
  t.strictSame(await call(0, 1, dateOf(today)), [[]], 'nothing was wrong, and nothing is left')
  t.equal(await folds(), 2 + 9 + 1)
  t.strictSame(await call((today / 1_440) % 12, 12, '1970-01-01'), [[]])
  t.equal(await folds(), 2 + 9 + 1 + 1, 'a day has one turn in twelve')
})

t.test('an ingester of 1.1.0 has a day mended that it names, or that the counts show', async t => {
  const { raw, date, rowOf, add, start } = await openDay(t)
  const before = await rowOf()
  const call = (name: string, ...args: string[]) =>
    raw.call('FCALL', [name, 1, '{kp}:meta', 22, 'live', 1, 8, 'BTC', ...args])
  await raw.hset(dailyKey('BTC'), date, before?.replace('"high":', '"high":9') ?? '')
  t.strictSame(await call('kp_mend'), [])
  t.strictSame(await call('kp_repair', date), [0, 1])
  t.equal(await rowOf(), before)
  await add(1, start + 61, Buffer.from('garbage'))
  t.strictSame(await call('kp_mend'), [date])
  const old = start - 20 * 1_440
  await raw.zadd(samplesKey('BTC', dateOf(old), 0), old, encodeSample(sampleOf('BTC', old)))
  t.strictSame(await call('kp_repair', dateOf(old)), [0, 0], 'it is no longer kept')
  t.strictSame(await call('kp_mend'), [])
})

t.test('an ingester of 1.0.0, which names no day, gets its lost rows mended', async t => {
  const { raw, start, date, rowOf } = await openDay(t)
  const before = await rowOf()
  await raw.hdel(dailyKey('BTC'), date)
  // Each call looks at one day of every coin: with a retention of one day, at today in even minutes of Redis' clock,
  // and at yesterday in odd ones.
  const repair = () => raw.call('FCALL', ['kp_repair', 1, '{kp}:meta', 12, 'live', 1, 1]) as Promise<string[]>
  const minute = Number(((await raw.time()) as unknown as string[])[0]) / 60
  const isTurn = Math.floor(minute) % 2 === 1
  const seen = await repair()
  t.strictSame(seen, isTurn ? [`BTC ${date}`] : [], `at minute ${minute} of day ${start / 1440}`)
  if (isTurn) t.equal(await rowOf(), before)
  t.strictSame(await repair(), [], 'until nothing is left')
})
