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

t.test('whatever bytes come, the answer is a sample or KIMCHI_ERR_CODEC', async t => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), bytes => {
      try {
        decodeSample('BTC', 29_000_000, bytes)
      } catch (error) {
        t.match(error, { code: 'KIMCHI_ERR_CODEC' })
      }
    }),
  )
})

t.test('a damaged member is refused by the field that is wrong', async t => {
  const whole = [29_000_020 % 60, 1, 2, 3, -4, 0]
  const wrongs: [fields: unknown, complaint: RegExp][] = [
    [whole.slice(1), /array of 6 fields/],
    [[...whole, 0], /array of 6 fields/],
    ['text', /array of 6 fields/],
    [whole.with(0, 1.5), /minute of the hour must be \d+, got: 1.5/],
    [whole.with(0, 60), /minute of the hour must be/],
    [whole.with(1, 0), /upbitKrw must be a price, got: 0/],
    [whole.with(2, Number.POSITIVE_INFINITY), /binanceUsdt must be a price, got: Infinity/],
    [whole.with(3, 1e13), /usdtKrw must be a price/],
    [whole.with(4, 0.5), /premiumE4 must be an integer, got: 0.5/],
    [whole.with(5, 2), /source must be live or candle/],
  ]
  for (const [fields, complaint] of wrongs) {
    t.throws(() => decodeSample('BTC', 29_000_020, pack(fields)), {
      code: 'KIMCHI_ERR_CODEC',
      message: complaint,
    })
  }
  t.throws(() => decodeSample('BTC', 29_000_020, Buffer.from([0x96])), {
    message: /^member must be MessagePack, got: 96 \(/,
  })
  t.throws(() => encodeSample(sampleOf('B TC', 1)), { message: 'symbol must be a word, got: B TC' })
  t.doesNotThrow(() => encodeSample(sampleOf('BTC', 0)))
  for (const minute of [-1, 0.5, 2 ** 53]) {
    t.throws(() => encodeSample(sampleOf('BTC', minute)), {
      message: `minute must be a whole epoch minute, got: ${minute}`,
    })
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
