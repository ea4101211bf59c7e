import { dateOf, type Sample } from '@kimchi/core'
import fc from 'fast-check'
import { pack } from 'msgpackr'
import t from 'tap'
import { decodeSample, encodeSample, formatLiveRow, parseCoin, parseDay, parseLiveRow } from '../src/codec.ts'
import { BTC, openStore, rowOf, sampleOf, samplesKey } from './fixtures.ts'

const price = fc.double({ min: Number.MIN_VALUE, max: 1e12, noNaN: true })
const anySample = fc.record<Sample>(
  {
    symbol: fc.constantFrom('BTC', '1INCH'),
    minute: fc.integer({ min: 0, max: 2 ** 40 }),
    upbitKrw: fc.oneof(price, fc.integer({ min: 1, max: 1e12 })),
    binanceUsdt: price,
    usdtKrw: price,
    premiumE4: fc.integer({ min: -1e10, max: 1e10 }),
    source: fc.constantFrom('live', 'candle'),
  },
  { noNullPrototype: true },
)

t.test('every sample comes back bit for bit, in at most 64 bytes', async t => {
  fc.assert(
    fc.property(anySample, sample => {
      const member = encodeSample(sample)
      t.ok(member.length <= 64)
      t.strictSame(decodeSample(sample.symbol, sample.minute, member), sample)
    }),
  )
})

t.test('a sample that cannot be read again is refused by the field that is wrong', async t => {
  const wrongs: [field: keyof Sample, value: unknown, complaint: string][] = [
    ['upbitKrw', 0, 'upbitKrw must be a price, got: 0'],
    ['binanceUsdt', Number.POSITIVE_INFINITY, 'binanceUsdt must be a price, got: Infinity'],
    ['usdtKrw', 1e13, 'usdtKrw must be a price, got: 10000000000000'],
    ['premiumE4', 0.5, 'premiumE4 must be an integer, got: 0.5'],
  ]
  t.doesNotThrow(() => encodeSample(sampleOf('BTC', 0)))
  for (const [field, value, message] of wrongs) {
    const wrong = { ...sampleOf('BTC', 0), [field]: value }
    t.throws(() => encodeSample(wrong), { code: 'KIMCHI_ERR_CODEC', message })
  }
})

t.test('Redis reads the same integers and prices out of a member', async t => {
  const { writer, ask, today } = await openStore(t, { coins: [] })
  const sample: Sample = {
    ...sampleOf('BTC', today),
    upbitKrw: 0.1 + 0.2,
    binanceUsdt: 1e12,
    usdtKrw: 1_463.5,
    premiumE4: -9_999_999_999,
    source: 'candle',
  }
  await writer.write({ minute: today, samples: [sample] })
  const lines = await ask('kp_samples', 'BTC', today, today + 1)
  const at = new Date(today * 60_000).toISOString().slice(0, 19)
  t.strictSame(lines, [
    `${at} -999999.9999% upbit_krw=0.30000000000000004 binance_usdt=1000000000000 usdt_krw=1463.5 candle`,
  ])
})

t.test('Redis counts what is read here as a sample, and nothing else', async t => {
  const { raw, ask, today } = await openStore(t, { coins: [] })
  const minute = today + 20
  const whole = [20, 1_000, 2, 3, -4, 1]
  const packed = pack(whole)
  const uint64 = (value: number) => {
    const bytes = Buffer.alloc(9, 0xcf)
    bytes.writeBigUInt64BE(BigInt(value), 1)
    return bytes
  }
  const raws: readonly Buffer[] = [
    Buffer.concat([packed, pack(1)]),
    Buffer.concat([packed, pack(null)]),
    Buffer.concat([Buffer.from([0xdc, 0, 6]), packed.subarray(1)]),
    Buffer.concat([Buffer.from([0x86]), ...whole.flatMap((value, at) => [pack(at + 1), pack(value)])]),
    Buffer.concat([Buffer.from([0x96, 20]), uint64(1_000), packed.subarray(4)]),
    Buffer.concat([packed.subarray(0, 4), uint64(2), packed.subarray(5)]),
    Buffer.concat([Buffer.from([0x96]), uint64(20), packed.subarray(2)]),
    packed.subarray(0, 5),
    Buffer.from([0xc1]),
  ]
  const value = fc.oneof(
    fc.integer({ min: -2, max: 3 }),
    fc.constantFrom<unknown>(20, -0, 1e12, 1e12 + 1, 2 ** 53, 2 ** 53 - 1, -(2 ** 53), 0.5, 20.5, Number.NaN),
    fc.constantFrom<unknown>(Number.POSITIVE_INFINITY, null, true, '20', '', [], {}, [20], Buffer.from([1])),
    fc.constantFrom<unknown>(new Date(0), 20n, 2n ** 63n, -1n),
  )
  const changed = fc
    .record({ at: fc.nat({ max: 6 }), value, cut: fc.nat({ max: 9 }) })
    .map(({ at, value, cut }) =>
      pack(at === 6 ? [...whole, value] : whole.with(at, value as number)).subarray(0, cut ? undefined : -1),
    )
  const member = fc.oneof(
    fc.constantFrom(packed, ...raws),
    changed,
    fc.uint8Array({ minLength: 1, maxLength: 9 }).map(Buffer.from),
  )
  const score = fc.constantFrom(minute, minute, minute, minute + 0.5, minute + 60)
  const key = samplesKey('BTC', dateOf(today), 0)
  let readable = 0
  await fc.assert(
    fc.asyncProperty(member, score, async (member, score) => {
      await raw.del(key)
      await raw.zadd(key, score, member)
      const lines = await ask('kp_samples', 'BTC', today, today + 60)
      const isSample = score < today + 60 && decodeSample('BTC', score, member) !== undefined
      if (isSample) readable += 1
      t.equal(/live|candle/.test(lines.join()), isSample, `${member.toString('hex')} at ${score - today}`)
    }),
    { numRuns: 600, seed: 9 },
  )
  t.ok(readable > 20 && readable < 500, `${readable} of 600`)
})

/** Values that are of a wrong type for every field. */
const WRONG = [null, true, '1', [1], {}]

/** The text of an object with one field changed, for each change. */
function changed(whole: object, changes: Readonly<Record<string, readonly unknown[]>>): string[] {
  return Object.entries(changes).flatMap(([field, values]) =>
    values.map(value => JSON.stringify({ ...whole, [field]: value })),
  )
}

t.test('a live row with any field wrong is not read', async t => {
  const sample = sampleOf('BTC', 29_000_000)
  const text = formatLiveRow(sample, 'Bitcoin')
  t.strictSame(JSON.parse(text), {
    symbol: 'BTC',
    name: 'Bitcoin',
    premium_pct: 1.2442,
    upbit_krw: 150_000_123,
    binance_usdt: 101_234.56,
    usdt_krw: 1_463.5,
    snapshot_at: '2025-02-19T21:20:00',
  })
  t.strictSame(parseLiveRow('BTC', text), rowOf(sample))
  t.equal(parseLiveRow('ETH', text), undefined)
  const prices = { upbit_krw: [...WRONG, 0], binance_usdt: [...WRONG, 0], usdt_krw: [...WRONG, 0] }
  const rest = {
    symbol: ['ETH'],
    name: [1, null],
    premium_pct: [...WRONG, 1.23456],
    snapshot_at: [1, '2026-13-01T00:00:00'],
  }
  for (const wrong of changed(JSON.parse(text), { ...prices, ...rest })) {
    t.equal(parseLiveRow('BTC', wrong), undefined, wrong)
  }
})

t.test('a coin with any field wrong is not read', async t => {
  const { symbol, ...fields } = BTC
  t.strictSame(parseCoin(symbol, JSON.stringify({ ...fields, order: 0 })), { ...BTC, order: 0 })
  t.strictSame(parseCoin(symbol, JSON.stringify({ ...fields, order: null })), { ...BTC, order: undefined })
  const texts = { name: [1, null], upbit: [1, null], binance: [1, null], order: [-1, 0.5, '0'] }
  for (const wrong of [...changed({ ...fields, order: 0 }, texts), '[]', 'null', '1', '{']) {
    t.equal(parseCoin(symbol, wrong), undefined, wrong)
  }
})

t.test('a day with any field wrong is not read', async t => {
  const premiums = { open: -1, high: 5, low: -7, close: 2, sum: 3 }
  const row = { ...premiums, samples: 1, first: 0, last: 0 }
  const day = { date: '2026-11-20', ...premiums, samples: 1, firstMinute: 0, lastMinute: 0 }
  t.strictSame(parseDay('2026-11-20', JSON.stringify(row)), day)
  t.equal(parseDay('2026-02-30', JSON.stringify(row)), undefined, 'no such date')
  const integers = [...WRONG, 0.5, 2 ** 53]
  const wrongs = changed(row, {
    ...Object.fromEntries(Object.keys(premiums).map(field => [field, integers])),
    samples: [...integers, 0],
    first: [...integers, -1, 1],
    last: [...integers, -1],
  })
  for (const wrong of wrongs) t.equal(parseDay('2026-11-20', wrong), undefined, wrong)
})
