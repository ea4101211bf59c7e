import {
  type Coin,
  type EpochMinute,
  type Exchange,
  LatestTicks,
  type Market,
  type Milliseconds,
  minuteOf,
  minuteStart,
  percentOf,
  premiumE4,
  RATE_MARKET,
  type Sample,
  takeSnapshot,
} from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'
import { CANDLE_GRACE_MS } from '../../backfill/candle-blocks.ts'
import { LATEST_SNAPSHOT_MS } from '../../minute/minute-turns.ts'
import { fail, ok, seconds, timeOf, unknown, type Verdict, worstOf } from '../finding.ts'
import type { Instruments } from '../instruments.ts'
import type { Streams, WatchedStream } from '../watched-stream.ts'

/** The watched minute ends at least this long after the streams were opened. */
const WARM_UP_MS: Milliseconds = 10_000

/** The coins are chosen, and their candles first asked for, this long after the minute's end. */
const CHOOSE_MS: Milliseconds = 500

const WATCHED_MS: Milliseconds = 40_000
const EVERY_MS: Milliseconds = 1_500

/** Quiet coins that are watched beside a busy one. */
const QUIET_COINS = 2

/** Binance's ticker may lack the last second: points. */
const DRIFT_POINTS = 0.05

const BTC: Coin = { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }

/** How one candle came to be, seen by asking for it again and again. */
interface CandleWatch {
  readonly exchange: Exchange
  readonly market: Market
  /** For how long after the minute's end it was watched. */
  watchedMs: Milliseconds
  /** When it was first there, after the minute's end. */
  thereMs: Milliseconds | undefined
  /** When it was last seen to have changed; undefined when it never did. */
  changedMs: Milliseconds | undefined
  candle: MinuteCandle | undefined
}

/** The candles of a minute, and what the frames make of it. */
export interface WatchedMinute {
  readonly watches: readonly CandleWatch[]
  /** By coin: the sample, or why there is none. */
  readonly samples: ReadonlyMap<Coin, Sample | string>
}

/** Watches the candles of a busy and of quiet coins come to be at the next minute's end. */
export async function watchMinute(
  coins: readonly Coin[],
  streams: Streams,
  instruments: Instruments,
): Promise<WatchedMinute> {
  const { clock, signal } = instruments.context
  const minute = minuteOf(clock.now() + WARM_UP_MS) + 1
  instruments.onProgress(`watching the streams, and the candles at ${timeOf(minuteStart(minute))} UTC`)
  await clock.wait(minuteStart(minute) + CHOOSE_MS - clock.now(), signal)
  const chosen = [BTC, ...quietestOf(coins, streams.upbit, minute)]
  const markets = [RATE_MARKET, ...chosen.map(coin => coin.upbit)]
  const watches = [
    ...markets.map(market => newWatch('upbit', market)),
    ...chosen.map(coin => newWatch('binance', coin.binance)),
  ]
  const samples = sampleMinute(chosen, streams, minute, instruments)
  while (clock.now() < minuteStart(minute) + WATCHED_MS && !signal.aborted) {
    const next = clock.wait(EVERY_MS, signal)
    await Promise.all(watches.map(watch => look(watch, minute, instruments)))
    await next
  }
  return { watches, samples: await samples }
}

/** Coins with the fewest trades on Upbit in the minute that ends at M, but with one. */
function quietestOf(coins: readonly Coin[], { ticks }: WatchedStream, minute: EpochMinute): readonly Coin[] {
  const trades = new Map<Market, number>()
  for (const { market, origin, eventAt } of ticks) {
    if (origin === 'stream' && minuteOf(eventAt) === minute - 1)
      trades.set(market, (trades.get(market) ?? 0) + 1)
  }
  const traded = coins.filter(({ upbit, symbol }) => trades.has(upbit) && symbol !== BTC.symbol)
  return traded.sort((a, b) => (trades.get(a.upbit) ?? 0) - (trades.get(b.upbit) ?? 0)).slice(0, QUIET_COINS)
}

/** What the frames that have come by the end of the minute loop's patience say. */
async function sampleMinute(
  coins: readonly Coin[],
  { upbit, binance }: Streams,
  minute: EpochMinute,
  { context: { clock, signal } }: Instruments,
): Promise<ReadonlyMap<Coin, Sample | string>> {
  await clock.wait(minuteStart(minute) + LATEST_SNAPSHOT_MS - clock.now(), signal)
  const latest = new LatestTicks()
  for (const tick of [...upbit.ticks, ...binance.ticks]) latest.record(tick)
  const { samples, gaps } = takeSnapshot(latest, minute, coins)
  return new Map(
    coins.map(coin => {
      const isOurs = ({ symbol }: { symbol: string }) => symbol === coin.symbol
      return [coin, samples.find(isOurs) ?? gaps.find(isOurs)?.reason ?? 'no sample']
    }),
  )
}

async function look(
  watch: CandleWatch,
  minute: EpochMinute,
  { rest, context: { clock } }: Instruments,
): Promise<void> {
  const { exchange, market } = watch
  const page = await rest.fetchCandles({ exchange, market, count: 1, before: minute }).catch(() => undefined)
  if (page === undefined) return
  const afterMs = clock.now() - minuteStart(minute)
  watch.watchedMs = afterMs
  const candle = page.candles.find(([open]) => open === minute - 1)
  if (candle === undefined) return
  if (watch.candle === undefined) watch.thereMs = afterMs
  else if (String(watch.candle) !== String(candle)) watch.changedMs = afterMs
  watch.candle = candle
}

function newWatch(exchange: Exchange, market: Market): CandleWatch {
  return { exchange, market, watchedMs: 0, thereMs: undefined, changedMs: undefined, candle: undefined }
}

/** Whether candles are there, and final, when the service reads them. */
export function checkCandleTimes({ watches }: WatchedMinute): Verdict {
  return worstOf(watches.map(judgeWatch))
}

function judgeWatch({ market, watchedMs, thereMs, changedMs }: CandleWatch): Verdict {
  if (watchedMs <= CANDLE_GRACE_MS) return unknown(`${market} was not answered`)
  const seen = `${market} ${thereMs === undefined ? `later than ${seconds(watchedMs)}` : seconds(thereMs)}${changedMs === undefined ? '' : `, changed until ${seconds(changedMs)}`}`
  if (thereMs !== undefined && Math.max(thereMs, changedMs ?? 0) <= CANDLE_GRACE_MS) return ok(seen)
  return fail(
    seen,
    'Minutes are closed later; a candle that changes after it was read is stored wrong. Tell the project.',
  )
}

/** Whether a gap that is filled later gets the number that the frames would have given. */
export function checkCandleSamples({ watches, samples }: WatchedMinute): Verdict {
  const closeOf = (market: Market) => watches.find(watch => watch.market === market)?.candle?.[1]
  return worstOf(
    [...samples].map(([{ symbol, upbit, binance }, sample]) => {
      const [krw, usdt, rate] = [closeOf(upbit), closeOf(binance), closeOf(RATE_MARKET)]
      if (typeof sample === 'string') return unknown(`${symbol} has no sample from frames (${sample})`)
      if (krw === undefined || usdt === undefined || rate === undefined)
        return unknown(`${symbol} lacks a candle`)
      const [live, candle] = [percentOf(sample.premiumE4), percentOf(premiumE4(krw, usdt, rate))]
      const seen = `${symbol} ${live.toFixed(4)} % from frames, ${candle.toFixed(4)} % from candles`
      const isSame =
        krw === sample.upbitKrw && rate === sample.usdtKrw && Math.abs(live - candle) <= DRIFT_POINTS
      return isSame
        ? ok(seen)
        : fail(seen, 'A gap that is filled later would get another number. Tell the project.')
    }),
  )
}
