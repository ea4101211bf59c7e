import { priceStep } from '@kimchi/client'
import {
  type Coin,
  type EpochMinute,
  type Exchange,
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
  readonly coins: readonly Coin[]
  readonly snapshots: readonly Snapshot[]
  /** The candles as they were when backfill would fetch them, for each minute. */
  readonly candles: readonly Candles[]
}

/** The service's own line for two minutes: feeds, minute turns, snapshots. */
export async function watchRows(coins: readonly Coin[], access: ExchangeAccess): Promise<Watch> {
  const { context, doors, rest, onProgress } = access
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
      onProgress(`fetching the candles before ${formatTimestamp(minute)} UTC`)
      await clock.wait(minuteStart(minute) + CANDLE_GRACE_MS - clock.now(), signal)
      candles.push(await fetchCandles(coins, minute, access))
      if (snapshots.length === MINUTES) break
    }
  } finally {
    await feeds.close()
  }
  if (candles.length < MINUTES) throw new Error(`${candles.length} of ${MINUTES} minutes watched`)
  return { coins, snapshots, candles }
}

/** Whether the service would publish every coin, with the prices that the exchanges' candles have. */
export function checkRows({ coins, snapshots, candles }: Watch, { binance }: Streams): Verdict {
  const last: Candles = candles.at(-1) ?? new Map()
  const newest = snapshots.at(-1)?.minute ?? 0
  const sending = new Set(binance.ticks.map(({ market }) => market))
  const silent = binance.markets.filter(
    market => !sending.has(market) && last.get(market)?.get(newest)?.hasTraded,
  )
  const judged = snapshots.flatMap(({ samples, gaps }) => [
    ...silent.map(market => fail(`${market} is silent although it trades`)),
    ...gaps.map(gap => judgeGap(gap, coins, last)),
    ...samples.flatMap(sample => judgeSample(sample, coins, last, newest)),
  ])
  const rows = snapshots.reduce((sum, { samples }) => sum + samples.length, 0)
  const seen = `${rows} of ${coins.length * MINUTES} rows in ${MINUTES} minutes`
  const findings = ['FAIL', 'unknown'] as const
  const told = findings.map(outcome => judged.filter(verdict => verdict.outcome === outcome))
  return worstOf([
    ok(seen),
    ...told.flatMap(([first, ...more]) => {
      if (first === undefined) return []
      return { ...first, seen: someOf([...new Set([first, ...more].map(({ seen }) => seen))]) }
    }),
  ])
}

/** A coin that traded on both exchanges must have a row. */
function judgeGap({ symbol, minute, reason }: Gap, coins: readonly Coin[], candles: Candles): Verdict {
  const coin = coins.find(coin => coin.symbol === symbol)
  const traded = (exchange: Exchange) => candles.get(coin?.[exchange] ?? '')?.get(minute)?.hasTraded === true
  const seen = `${symbol} has no row at ${timeOf(minute)} (${reason})`
  if (traded('upbit') && traded('binance'))
    return fail(`${seen} although it traded`, 'The service leaves it out. Tell the project.')
  return unknown(seen, 'Find out whether it trades on both exchanges.')
}

function judgeSample(
  { symbol, upbitKrw, binanceUsdt, usdtKrw, minute }: Sample,
  coins: readonly Coin[],
  candles: Candles,
  lastMinute: EpochMinute,
): readonly Verdict[] {
  const { upbit = '', binance = '' } = coins.find(coin => coin.symbol === symbol) ?? {}
  const row = { minute, candles, isNewest: minute === lastMinute }
  return [
    judgePrice({ ...row, market: upbit, price: upbitKrw, isRight: isLast }),
    judgePrice({ ...row, market: RATE_MARKET, price: usdtKrw, isRight: isLast }),
    judgePrice({ ...row, market: binance, price: binanceUsdt, isRight: isOfLastSecond }),
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
  readonly minute: EpochMinute
  readonly candles: Candles
  /** Whether the candles are of 10 s after the minute: one of it may still be missing. */
  readonly isNewest: boolean
  readonly isRight: (price: number, known: readonly Candle[]) => boolean
}

function judgePrice({ market, price, minute, candles, isNewest, isRight }: PublishedPrice): Verdict {
  const before = [...(candles.get(market) ?? [])].filter(([end]) => end <= minute)
  const [end, newest] = before.at(-1) ?? []
  if (end === undefined || newest === undefined)
    return unknown(`${market} has no candle at ${timeOf(minute)}`)
  const known = before.map(([, candle]) => candle)
  if (isRight(price, known)) return ok('')
  const seen = `${market} ${price} at ${timeOf(minute)}, ${newest.close} by its candle`
  if (end < minute && isNewest) return unknown(`${seen} of ${timeOf(end - 1)}`)
  return fail(seen, 'Published prices may be wrong. Tell the project.')
}

/** Upbit's frame of the last trade has the candle's close. */
function isLast(price: number, known: readonly Candle[]): boolean {
  return known.at(-1)?.close === price
}

/** Binance's ticker may miss the last second: any price of the candle, or the one before, can be the last it knew. */
function isOfLastSecond(price: number, known: readonly Candle[]): boolean {
  const [before, newest] = known.slice(-2)
  const { low, high } = newest ?? before ?? { low: Number.NaN, high: Number.NaN }
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
    else if (now?.hasTraded) return `${market} ${before === undefined ? 'not there' : 'not final'} ${after}`
    return []
  })
  const seen = `${final} candles final ${after}`
  const advice = 'Backfill may store a price too early, or later than designed. Tell the project.'
  if (others.length > 0) return fail(`${someOf(others)}; ${seen}`, advice)
  return final > 0 ? ok(seen) : unknown(seen)
}
