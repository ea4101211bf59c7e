import t from 'tap'
import { createBinanceDecoder } from '../src/binance.ts'
import type { Decoded } from '../src/feed/protocol.ts'
import { createUpbitDecoder } from '../src/upbit.ts'
import { noRecordings, recordedLines, recordedText } from './recorded.ts'

const NOW = 1_795_222_584_381
const skip = noRecordings

/** A decoder subscribed to every market of the recordings, so that it ignores none of them. */
function upbit() {
  return createUpbitDecoder(['KRW-BTC', 'KRW-ETH', 'KRW-LAMB', 'KRW-WAVES', 'BTC-ARK', 'BTC-AQT', 'BTC-XTZ'])
}

function binance(markets = ['BTCUSDT', 'ATOMUSDT', 'NKNUSDT', 'BLZETH', 'LRCBTC', 'RUNEEUR']) {
  return createBinanceDecoder(markets)
}

function upbitTick(
  market: string,
  price: number,
  eventAt: number,
  sentAt: number,
  origin: 'stream' | 'snapshot',
) {
  const times = { eventAt, sentAt, receivedAt: NOW, tradedAt: eventAt }
  return { exchange: 'upbit', market, price, ...times, origin, tradable: true }
}

function binanceTick(market: string, price: number, eventAt: number) {
  const common = { exchange: 'binance', origin: 'stream', tradedAt: undefined, tradable: undefined }
  return { ...common, market, price, eventAt, sentAt: eventAt, receivedAt: NOW }
}

function ticksOf(decoded: Decoded): readonly unknown[] {
  return decoded.kind === 'tick' ? [decoded.tick] : []
}

t.test('every recorded Upbit ticker decodes to its exact tick, byte for byte', { skip }, async t => {
  const files = [
    'ccxt/upbit-ws.2026-08-13.jsonl',
    'single-frames/upbit-ws.2021-2025.jsonl',
    'upbit-docs/ws-ticker-and-candle.2026-08-26.jsonl',
  ]
  const frames = files.flatMap(file =>
    recordedText(file)
      .split('\n')
      .filter(line => line.startsWith('{'))
      // The ccxt file wraps each frame; the others are the frames themselves, kept as the text they came in.
      .flatMap(line => {
        const { dir, payload } = JSON.parse(line)
        if (dir === undefined) return [line]
        return dir === 'recv' ? [JSON.stringify(payload)] : []
      }),
  )
  const decoder = upbit()
  const decoded = frames.map(frame => decoder(Buffer.from(frame), NOW))
  t.strictSame(decoded.flatMap(ticksOf), [
    upbitTick('KRW-BTC', 89_886_000, 1_786_613_070_200, 1_786_613_070_431, 'snapshot'),
    upbitTick('KRW-BTC', 89_887_000, 1_786_613_071_880, 1_786_613_071_943, 'stream'),
    upbitTick('KRW-BTC', 46_810_000, 1_621_697_466_000, 1_621_697_466_678, 'stream'),
    upbitTick('KRW-BTC', 122_902_000, 1_745_130_655_618, 1_745_130_655_652, 'snapshot'),
    upbitTick('KRW-BTC', 109_868_000, 1_787_729_040_682, 1_787_729_042_606, 'snapshot'),
    upbitTick('KRW-ETH', 3_428_000, 1_787_729_042_970, 1_787_729_043_011, 'snapshot'),
  ])
  t.strictSame(
    new Set(decoded.map(({ kind }) => kind)),
    new Set(['tick', 'ignored']),
    'trades, books and candles are ignored',
  )
})

t.test('real error frames are errors', { skip }, async t => {
  const decoder = createUpbitDecoder([])
  const kinds = recordedLines('single-frames/upbit-errors-and-orderbook.2026-09-23.jsonl').map(
    ({ payload }) => {
      const decoded = decoder(Buffer.from(String(payload)), NOW)
      return decoded.kind
    },
  )
  t.strictSame(kinds, ['ignored', 'error', 'error', 'error'])
  const binanceKinds = recordedLines('single-frames/binance-miniticker-and-error.2026-09_10.jsonl').map(
    ({ payload }) => binance()(Buffer.from(String(payload)), NOW).kind,
  )
  t.strictSame(binanceKinds, ['tick', 'tick', 'error'])
})

t.test('every recorded Binance miniTicker decodes to its exact tick', { skip }, async t => {
  const ccxt = recordedLines('ccxt/binance-spot-ws.2026-08-12.jsonl')
  const received = ccxt.filter(({ dir }) => dir === 'recv').map(({ payload }) => JSON.stringify(payload))
  const single = recordedText('single-frames/binance-miniticker.2025-2026.jsonl').split('\n')
  const decoder = binance()
  const decoded = received.map(frame => decoder(Buffer.from(frame), NOW))
  t.strictSame(decoded.flatMap(ticksOf), [
    binanceTick('BTCUSDT', 64_117.99, 1_786_539_510_015),
    // The same price and a smaller volume: Binance sent it because a trade left the 24-hour window.
    binanceTick('BTCUSDT', 64_117.99, 1_786_539_511_015),
  ])
  t.strictSame(
    decoded.map(({ kind }) => kind),
    ['ack', 'tick', 'tick', 'ack', 'ignored', 'ignored'],
  )
  const others = single.filter(line => line !== '').map(line => binance()(Buffer.from(line), NOW))
  t.strictSame(others.flatMap(ticksOf), [
    binanceTick('BTCUSDT', 102_492.27, 1_749_183_266_025),
    binanceTick('ATOMUSDT', 4.159, 1_749_183_267_518),
    binanceTick('BTCUSDT', 86_128.01, 1_791_296_828_016),
  ])
})
