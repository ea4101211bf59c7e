import { dateOf, type Sample } from '@kimchi/core'
import fc from 'fast-check'
import { pack } from 'msgpackr'
import t from 'tap'
import { decodeSample, encodeSample } from '../src/codec.ts'
import { openStore, sampleOf, samplesKey } from './fixtures.ts'

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
