import type { Sample } from '@kimchi/core'
import fc from 'fast-check'
import { pack } from 'msgpackr'
import t from 'tap'
import { decodeSample, encodeSample } from '../src/codec.ts'
import { openStore, sampleOf, todayMinutes } from './fixtures.ts'

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

t.test('whatever bytes come, decoding does not throw', async t => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), bytes => {
      t.doesNotThrow(() => decodeSample('BTC', 29_000_000, bytes))
    }),
  )
})

t.test('a member with any wrong field is no sample', async t => {
  const whole = [29_000_020 % 60, 1, 2, 3, -4, 0]
  t.ok(decodeSample('BTC', 29_000_020, pack(whole)))
  const wrongs: unknown[] = [
    whole.slice(1),
    [...whole, 0],
    'text',
    whole.with(0, 1.5),
    whole.with(0, 60),
    whole.with(1, 0),
    whole.with(2, Number.POSITIVE_INFINITY),
    whole.with(3, 1e13),
    whole.with(4, 0.5),
    whole.with(5, 2),
    [...whole.slice(0, 5), '0'],
  ]
  for (const fields of wrongs)
    t.equal(decodeSample('BTC', 29_000_020, pack(fields)), undefined, JSON.stringify(fields))
  t.equal(decodeSample('BTC', 29_000_020, Buffer.from([0x96])), undefined, 'a member cut short')
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
  const { connection, writer, ask } = await openStore(t)
  const { today } = await todayMinutes(connection)
  await writer.track([])
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
