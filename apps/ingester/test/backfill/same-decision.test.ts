import {
  type Coin,
  type Exchange,
  LatestTicks,
  MINUTE_MS,
  minuteOf,
  minuteStart,
  RATE_MARKET,
  takeSnapshot,
} from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'
import { type Prices, startSimulator } from '@kimchi/simulator'
import fc from 'fast-check'
import t from 'tap'
import { CandleBlock } from '../../src/backfill/candle-block.ts'
import { candleSampleOrGap } from '../../src/backfill/decide-minutes.ts'
import { BTC, ETH, FEW_TRADES, IQ, KNC, YESTERDAY } from '../support/backfill-bench.ts'

const RUNS = 300

t.test(
  'the live feeds and candles decide the same for any coin and minute of any market history',
  async t => {
    const simulator = await startSimulator({ coins: FEW_TRADES, pumpMs: 0 })
    t.teardown(() => simulator.close())
    const { prices } = simulator
    const seen = new Map<string, number>()
    let lagged = 0
    fc.assert(
      fc.property(
        fc.constantFrom(BTC, ETH, KNC, IQ, IQ),
        fc.integer({ min: 0, max: 1_439 }),
        fc.array(
          fc.record({
            exchange: fc.constantFrom<Exchange>('upbit', 'binance'),
            // Most begin well before the minute and reach it, or just miss it.
            backMs: fc.integer({ min: 0, max: 10 * MINUTE_MS }),
            forMs: fc.integer({ min: 1, max: 10 * MINUTE_MS }),
          }),
          { maxLength: 2 },
        ),
        (coin, offset, stretches) => {
          const minute = YESTERDAY + offset
          simulator.faults.clear()
          for (const { exchange, backMs, forMs } of stretches) {
            const from = minuteStart(minute) - backMs
            simulator.faults.set({ kind: 'outage', exchange, from, to: from + forMs })
          }
          const live = liveOutcome(prices, coin, minute)
          const candle = candleOutcome(prices, coin, minute)
          const kind = typeof candle === 'string' ? candle : 'sample'
          seen.set(kind, (seen.get(kind) ?? 0) + 1)
          if (typeof live === 'string' || typeof candle === 'string') {
            if (live !== candle) lagged += 1
            return live === candle || lastSecond(prices, coin, minute)
          }
          const isLagging = live.binanceUsdt !== candle.binanceUsdt
          if (isLagging) lagged += 1
          return (
            live.upbitKrw === candle.upbitKrw &&
            live.usdtKrw === candle.usdtKrw &&
            (!isLagging || lastSecond(prices, coin, minute))
          )
        },
      ),
      { numRuns: RUNS, seed: 3 },
    )
    t.comment(`${JSON.stringify(Object.fromEntries(seen))}, ${lagged} differ by a trade of the last second`)
    for (const kind of ['sample', 'upbit-down', 'binance-down', 'no-upbit-price']) t.ok(seen.has(kind), kind)
  },
)

/** Whether Binance traded so shortly before the minute that no ticker has told of it. */
function lastSecond(prices: Prices, coin: Coin, minute: number): boolean {
  const end = minuteStart(minute)
  return [coin.binance, 'BTCUSDT'].some(
    market => prices.trades('binance', market, end - 1_000, end).length > 0,
  )
}

function candleOutcome(prices: Prices, coin: Coin, minute: number) {
  const block = (exchange: Exchange, market: string, minutes: number) => {
    const opens = Array.from({ length: minutes }, (_, at) => minute - minutes + at)
    const candles = opens.flatMap((open): MinuteCandle[] => {
      const candle = prices.candle(exchange, market, minuteStart(open))
      if (candle !== undefined) return [[open + 1, candle.close, candle.volume]]
      // Binance writes idle minutes, with the price before them.
      const last = exchange === 'binance' && prices.lastTrade(exchange, market, minuteStart(open))
      return last ? [[open + 1, last.price, 0]] : []
    })
    return new CandleBlock(candles, minute + 10)
  }
  return candleSampleOrGap(coin, minute, {
    upbit: block('upbit', coin.upbit, 63),
    rate: block('upbit', RATE_MARKET, 63),
    upbitReference: block('upbit', 'KRW-BTC', 2),
    binance: block('binance', coin.binance, 63),
    binanceReference: block('binance', 'BTCUSDT', 2),
  })
}

/** What takeSnapshot makes of the frames that the exchanges would have sent about the same trades. */
function liveOutcome(prices: Prices, coin: Coin, minute: number) {
  const latest = new LatestTicks()
  const end = minuteStart(minute)
  for (const market of new Set([coin.upbit, RATE_MARKET, 'KRW-BTC'])) {
    const first = prices.lastTrade('upbit', market, end - 2 * MINUTE_MS)
    const trades = prices.trades('upbit', market, end - 2 * MINUTE_MS, end)
    for (const { at, price } of first === undefined ? trades : [first, ...trades]) {
      const tick = {
        exchange: 'upbit',
        market,
        price,
        eventAt: at,
        sentAt: at,
        receivedAt: at + 50,
        tradable: true,
      } as const
      latest.record({ ...tick, origin: 'stream', tradedAt: at })
    }
  }
  for (const market of new Set([coin.binance, 'BTCUSDT'])) {
    for (let eventAt = end - 2 * MINUTE_MS + 137; eventAt < end; eventAt += 1_000) {
      const isFirst = eventAt < end - 2 * MINUTE_MS + 1_000
      if (!isFirst && prices.trades('binance', market, eventAt - 1_000, eventAt).length === 0) continue
      const last = prices.lastTrade('binance', market, eventAt)
      if (last === undefined) continue
      const tick = {
        exchange: 'binance',
        market,
        price: last.price,
        eventAt,
        sentAt: eventAt,
        receivedAt: eventAt + 50,
        tradable: undefined,
      } as const
      latest.record({ ...tick, origin: 'stream', tradedAt: isFirst ? last.at : eventAt })
    }
  }
  // Whether the streams have passed the minute is not the question here.
  for (const exchange of ['upbit', 'binance'] as const) {
    const times = { eventAt: end + 2_000, sentAt: end + 2_000, receivedAt: end + 2_000, tradedAt: undefined }
    latest.record({ exchange, market: 'OTHER', price: 1, ...times, origin: 'stream', tradable: undefined })
  }
  const { samples, gaps } = takeSnapshot(latest.before(minute), [coin])
  return samples[0] ?? gaps[0]?.reason ?? `nothing for ${minuteOf(end)}`
}
