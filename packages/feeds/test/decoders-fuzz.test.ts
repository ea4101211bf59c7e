import { isPrice } from '@kimchi/core'
import fc from 'fast-check'
import t from 'tap'
import { createBinanceDecoder } from '../src/binance.ts'
import type { Decoded, Decoder } from '../src/feed/protocol.ts'
import { createUpbitDecoder } from '../src/upbit.ts'

const NOW = 1_795_222_584_381
const UPBIT = {
  type: 'ticker',
  code: 'KRW-BTC',
  trade_price: 5,
  trade_timestamp: NOW,
  timestamp: NOW,
  market_state: 'ACTIVE',
  is_trading_suspended: false,
  stream_type: 'REALTIME',
}
const BINANCE = { e: '24hrMiniTicker', E: NOW, s: 'BTCUSDT', c: '5.00', v: '1' }

const OPENERS: readonly (readonly [string, () => Decoder, object])[] = [
  ['upbit', () => createUpbitDecoder(['KRW-BTC']), UPBIT],
  ['binance', () => createBinanceDecoder(['BTCUSDT']), BINANCE],
]

/** Whether an outcome is one of the documented ones, and a tick in it is sound. */
function isSound(decoded: Decoded): boolean {
  if (decoded.kind !== 'tick')
    return ['ack', 'ignored', 'shutdown', 'error', 'malformed'].includes(decoded.kind)
  const { price, eventAt, market } = decoded.tick
  return isPrice(price) && Number.isInteger(eventAt) && (market === 'KRW-BTC' || market === 'BTCUSDT')
}

const jsonish = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(
    0,
    -1,
    1e308,
    5e-324,
    null,
    '',
    '5.00',
    '0',
    'NaN',
    '1e5',
    true,
    [],
    {},
    'KRW-BTC',
    'BTCUSDT',
  ),
)

const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value))

/** Any bytes, any JSON, and a frame of which fields or characters are changed. */
function framesFrom(frame: object): Readonly<Record<string, fc.Arbitrary<Buffer>>> {
  const keys = [...Object.keys(frame), 'data', 'stream', 'error', 'result', 'id', '__proto__']
  const changes = fc.dictionary(fc.constantFrom(...keys), fc.option(jsonish, { nil: undefined }))
  const text = JSON.stringify(frame)
  const place = fc.nat({ max: text.length })
  return {
    'any bytes': fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)),
    'any JSON': fc.json().map(json => Buffer.from(json)),
    'a frame with any of its fields replaced, removed or added': fc
      .tuple(changes, fc.boolean())
      .map(([changed, inList]) => [{ ...frame, ...changed }, inList] as const)
      .map(([entry, inList]) => bytesOf(inList ? [entry, frame] : entry)),
    'a frame with characters cut, doubled or swapped': fc
      .tuple(place, place, place)
      .map(([a, b, c]) => Buffer.from(text.slice(0, a) + text.slice(b, c) + text.slice(a))),
  }
}

for (const [name, open, frame] of OPENERS) {
  for (const [what, frames] of Object.entries(framesFrom(frame))) {
    t.test(`${name}: ${what} gives a sound outcome`, async () => {
      fc.assert(
        fc.property(frames, bytes => isSound(open()(bytes, NOW))),
        { numRuns: 2_000 },
      )
    })
  }
}

// docs/faults.md, 19
t.test('a price becomes a tick exactly when it is one', async t => {
  const numbers = fc.oneof(
    fc.double(),
    fc.constantFrom(0, -0, -1, 1e12, 1.000001e12, 1e308, 5e-324, 1e-8, 1e21),
  )
  fc.assert(
    fc.property(numbers, price => {
      const decoded = OPENERS[0]?.[1]()(bytesOf({ ...UPBIT, trade_price: price }), NOW)
      const tick = decoded?.kind === 'tick' ? decoded.tick : undefined
      return isPrice(price) ? tick?.price === price : decoded?.kind === 'malformed'
    }),
  )
  fc.assert(
    fc.property(fc.nat(), fc.nat({ max: 99_999_999 }), (whole, fraction) => {
      const text = `${whole}.${String(fraction).padStart(8, '0')}`
      const decoded = OPENERS[1]?.[1]()(bytesOf({ ...BINANCE, c: text }), NOW)
      const tick = decoded?.kind === 'tick' ? decoded.tick : undefined
      return Number(text) > 0 ? tick?.price === Number(text) : decoded?.kind === 'malformed'
    }),
  )
  t.pass()
})
