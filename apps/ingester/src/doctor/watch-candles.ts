import {
  type Coin,
  type EpochMinute,
  type Exchange,
  type Market,
  type Milliseconds,
  minuteOf,
  minuteStart,
  RATE_MARKET,
  takeSnapshot,
} from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'
import type { Instruments } from './instruments.ts'
import type { CandleWatch, World } from './world.ts'

/** The first watched minute ends at least this long after the streams were opened. */
const WARM_UP_MS: Milliseconds = 10_000

/** The quiet coin is chosen, and its candle first asked for, this long after the minute's end. */
const CHOOSE_MS: Milliseconds = 500

/** As long as the minute loop waits. */
const SNAPSHOT_MS: Milliseconds = 5_000

const WATCHED_MS: Milliseconds = 40_000
const EVERY_MS: Milliseconds = 1_500

/** How many minute ends are watched. */
const MINUTES = 2

/** The busy one. */
const BTC: Coin = { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }

/** Watches the candles of a busy and of a quiet coin come to be, at two minute ends. */
export async function watchCandles(world: World, instruments: Instruments): Promise<void> {
  const { clock, signal } = instruments.context
  const first = minuteOf(clock.now() + WARM_UP_MS) + 1
  for (let minute = first; minute < first + MINUTES; minute++) {
    const at = new Date(minuteStart(minute)).toISOString().slice(11, 16)
    instruments.onProgress(`watching the streams, and the candles at ${at} UTC`)
    await clock.wait(minuteStart(minute) + CHOOSE_MS - clock.now(), signal)
    if (signal.aborted) return
    const quiet = quietestOf(world, minute)
    const coins = quiet === undefined ? [BTC] : [BTC, quiet]
    await Promise.all([
      watchMinute(world, instruments, coins, minute),
      noteSamples(world, instruments, coins, minute),
    ])
  }
}

/** The coin with the fewest trades on Upbit in the minute that ends at M, but with one. */
function quietestOf({ upbit, coins }: World, minute: EpochMinute): Coin | undefined {
  const trades = new Map<Market, number>()
  for (const { market, origin, eventAt } of upbit?.ticks ?? []) {
    if (origin === 'stream' && minuteOf(eventAt) === minute - 1)
      trades.set(market, (trades.get(market) ?? 0) + 1)
  }
  const traded = coins.filter(({ upbit: market, symbol }) => trades.has(market) && symbol !== BTC.symbol)
  return traded.sort((a, b) => (trades.get(a.upbit) ?? 0) - (trades.get(b.upbit) ?? 0))[0]
}

async function noteSamples(
  { samples }: World,
  { context: { clock, signal }, latest }: Instruments,
  coins: readonly Coin[],
  minute: EpochMinute,
): Promise<void> {
  await clock.wait(minuteStart(minute) + SNAPSHOT_MS - clock.now(), signal)
  const snapshot = takeSnapshot(latest, minute, coins)
  for (const coin of coins) {
    const isOurs = ({ symbol }: { symbol: string }) => symbol === coin.symbol
    const sample = snapshot.samples.find(isOurs) ?? snapshot.gaps.find(isOurs)?.reason ?? 'no sample'
    samples.push({ coin, minute, sample })
  }
}

async function watchMinute(
  world: World,
  { rest, context: { clock, signal } }: Instruments,
  coins: readonly Coin[],
  minute: EpochMinute,
): Promise<void> {
  const upbit = [RATE_MARKET, ...coins.map(coin => coin.upbit)].map(market =>
    newWatch('upbit', market, minute),
  )
  const binance = coins.map(coin => newWatch('binance', coin.binance, minute))
  const watches = [...upbit, ...binance]
  world.candles.push(...watches)
  const elapsed = () => clock.now() - minuteStart(minute)
  while (elapsed() < WATCHED_MS && !signal.aborted) {
    const next = clock.wait(EVERY_MS, signal)
    await Promise.all(
      watches.map(async watch => {
        const { exchange, market } = watch
        const range = { exchange, market, from: minute - 1, to: minute }
        const page = await rest.candlePage(range, signal).catch(() => undefined)
        if (page === undefined) return
        note(
          watch,
          page.candles.find(([open]) => open === minute - 1),
          elapsed(),
        )
      }),
    )
    await next
  }
}

function newWatch(exchange: Exchange, market: Market, minute: EpochMinute): CandleWatch {
  const nothing = { watchedMs: 0, thereMs: undefined, changedMs: undefined, candle: undefined }
  return { exchange, market, minute, ...nothing }
}

function note(watch: CandleWatch, candle: MinuteCandle | undefined, afterMs: Milliseconds): void {
  watch.watchedMs = afterMs
  if (candle === undefined) return
  if (watch.candle === undefined) watch.thereMs = afterMs
  else if (String(watch.candle) !== String(candle)) watch.changedMs = afterMs
  watch.candle = candle
}
