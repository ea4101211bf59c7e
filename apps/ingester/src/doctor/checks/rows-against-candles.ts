import { priceStep } from '@kimchi/client'
import {
  type Coin,
  type EpochMinute,
  formatTimestamp,
  type Gap,
  LatestTicks,
  type Market,
  type Milliseconds,
  minuteStart,
  RATE_MARKET,
  type Sample,
  type Snapshot,
  takeSnapshot,
} from '@kimchi/core'
import { CANDLE_GRACE_MS } from '../../backfill/candle-block-cache.ts'
import { ExchangeFeeds } from '../../minute/exchange-feeds.ts'
import { minuteTurns } from '../../minute/minute-loop.ts'
import type { ExchangeAccess } from '../exchange-access.ts'
import { fail, ok, someOf, unknown, type Verdict, worstOf } from '../finding.ts'
import { type Candle, type Candles, fetchCandles } from '../market-candles.ts'
import type { Streams } from '../watched-stream.ts'

const MINUTES = 2

/** The first watched minute ends at least this long after the feeds were opened. */
const WARM_UP_MS: Milliseconds = 5_000

/** What the service would have published, and what the exchanges' candles say of it. */
export interface Watch {
  readonly snapshots: readonly Snapshot[]
  /** The candles as they were when backfill would fetch them, for each minute. */
  readonly candles: readonly Candles[]
}

/** The service's own line for two minutes: feeds, minute turns, snapshots. */
export async function watchRows(coins: readonly Coin[], access: ExchangeAccess): Promise<Watch> {
  const { context, doors, rest } = access
  const { clock, signal } = context
  const latest = new LatestTicks()
  const feeds = new ExchangeFeeds({ latest, doors, rest, onRefused: () => {} }, context)
  feeds.setCoins(coins)
  const from = clock.now() + WARM_UP_MS
  const snapshots: Snapshot[] = []
  const candles: Candles[] = []
  try {
    for await (const known of minuteTurns(latest, context)) {
      const { minute } = known
      if (minuteStart(minute) < from) continue
      snapshots.push(takeSnapshot(known, coins))
      await clock.wait(minuteStart(minute) + CANDLE_GRACE_MS - clock.now(), signal)
      candles.push(await fetchCandles(coins, minute, access))
      if (snapshots.length === MINUTES) break
    }
  } finally {
    await feeds.close()
  }
  if (candles.length < MINUTES) throw new Error(`${candles.length} of ${MINUTES} minutes watched`)
  return { snapshots, candles }
}

/** Whether the service would publish every coin, with the prices that the exchanges' candles have. */
export function checkRows({ snapshots, candles }: Watch, { coins, binance }: Streams): Verdict {
  const last: Candles = candles.at(-1) ?? new Map()
  const sending = new Set(binance.ticks.map(({ market }) => market))
  const silent = binance.markets.filter(market => !sending.has(market))
  const judged = snapshots.flatMap(({ minute, samples, gaps }) => [
    ...silent.flatMap(market =>
      hasTraded(last, market, minute) ? fail(`${market} is silent although it trades`) : [],
    ),
    ...gaps.map(gap => judgeGap(gap, coins, last)),
    ...samples.flatMap(sample => judgeSample(sample, coins, last)),
  ])
  const rows = snapshots.reduce((sum, { samples }) => sum + samples.length, 0)
  return worstOf([ok(`${rows} of ${coins.length * MINUTES} rows in ${MINUTES} minutes`), worstOf(judged)])
}

function hasTraded(candles: Candles, market: Market | undefined, minute: EpochMinute): boolean {
  return (candles.get(market ?? '')?.get(minute)?.volume ?? 0) > 0
}

/** A coin that traded on both exchanges must have a row. */
function judgeGap({ symbol, minute, reason }: Gap, coins: readonly Coin[], candles: Candles): Verdict {
  const coin = coins.find(coin => coin.symbol === symbol)
  const seen = `${symbol} has no row at ${timeOf(minute)} (${reason})`
  if (hasTraded(candles, coin?.upbit, minute) && hasTraded(candles, coin?.binance, minute))
    return fail(`${seen} although it traded`, 'The service leaves it out. Tell the project.')
  return unknown(seen, 'Find out whether it trades on both exchanges.')
}

function judgeSample(
  { symbol, upbitKrw, binanceUsdt, usdtKrw, minute }: Sample,
  coins: readonly Coin[],
  candles: Candles,
): readonly Verdict[] {
  const { upbit = '', binance = '' } = coins.find(coin => coin.symbol === symbol) ?? {}
  return [
    judgePrice({ market: upbit, price: upbitKrw, isRight: isLast }, minute, candles),
    judgePrice({ market: RATE_MARKET, price: usdtKrw, isRight: isLast }, minute, candles),
    judgePrice({ market: binance, price: binanceUsdt, isRight: isOfLastSecond }, minute, candles),
    judgeStep(upbit, upbitKrw),
    judgeStep(RATE_MARKET, usdtKrw),
  ]
}

/** Callers are told how exact a premium is by Upbit's price steps. Rounded, since 0.1 has no exact float. */
function judgeStep(market: Market, price: number): Verdict {
  const step = priceStep(price)
  if (Number((price / step).toFixed(6)) % 1 === 0) return ok('')
  return unknown(
    `${market} ${price} is no multiple of ${step}`,
    'Upbit may have other steps. Tell the project.',
  )
}

interface PublishedPrice {
  readonly market: Market
  readonly price: number
  readonly isRight: (price: number, newest: Candle, before?: Candle) => boolean
}

/** A minute without a candle may have had no trade, or its candle may come late. */
function judgePrice(published: PublishedPrice, minute: EpochMinute, candles: Candles): Verdict {
  const { market, price, isRight } = published
  const known = [...(candles.get(market) ?? [])].filter(([end]) => end <= minute)
  const [before, newest] = [known.at(-2), known.at(-1)]
  if (newest === undefined) return unknown(`${market} has no candle at ${timeOf(minute)}`)
  const [end, candle] = newest
  if (isRight(price, candle, before?.[1])) return ok('')
  const seen = `${market} ${price} at ${timeOf(minute)}, ${candle.close} by its candle`
  if (end < minute) return unknown(`${seen} of ${timeOf(end - 1)}`)
  return fail(seen, 'Published prices may be wrong. Tell the project.')
}

/** Upbit's frame of the last trade has the candle's close. */
function isLast(price: number, { close }: Candle): boolean {
  return close === price
}

/** Binance's ticker may miss the last second: any price of the candle, or the one before, can be the last it knew. */
function isOfLastSecond(price: number, { low, high }: Candle, before?: Candle): boolean {
  return (price >= low && price <= high) || price === before?.close
}

function timeOf(minute: EpochMinute): string {
  return formatTimestamp(minute).slice(11, 16)
}

/** Whether the candles were final when backfill would fetch them: those of the first minute, against a minute later. */
export function checkCandles({ snapshots, candles: [early, late] }: Watch): Verdict {
  const minute = snapshots[0]?.minute ?? 0
  const after = `after ${CANDLE_GRACE_MS / 1_000} s`
  let final = 0
  const others = [...(late ?? [])].flatMap(([market, candles]) => {
    const [before, now] = [early?.get(market)?.get(minute), candles.get(minute)]
    if (before !== undefined && before.close === now?.close) final += 1
    else if ((now?.volume ?? 0) > 0)
      return `${market} ${before === undefined ? 'not there' : 'not final'} ${after}`
    return []
  })
  const seen = `${final} candles final ${after}`
  const advice = 'Backfill may store a price too early, or later than designed. Tell the project.'
  if (others.length > 0) return fail(`${someOf(others)}; ${seen}`, advice)
  return final > 0 ? ok(seen) : unknown(seen)
}
