import {
  type Coin,
  type EpochMinute,
  type Exchange,
  formatTimestamp,
  LatestTicks,
  type Market,
  type Milliseconds,
  minuteOf,
  minuteStart,
  percentOf,
  premiumE4,
  RATE_MARKET,
  type Snapshot,
  takeSnapshot,
} from '@kimchi/core'
import type { MinuteCandle } from '@kimchi/feeds'
import { CANDLE_GRACE_MS } from '../../backfill/candle-block-cache.ts'
import { LATEST_SNAPSHOT_MS } from '../../minute/minute-turns.ts'
import type { ExchangeAccess } from '../exchange-access.ts'
import { fail, ok, unknown, type Verdict, worstOf } from '../finding.ts'
import type { Streams } from '../watched-stream.ts'

/** The watched minute ends at least this long after the streams were opened. */
const WARM_UP_MS: Milliseconds = 10_000

/** Candles are fetched when backfill would, and again this long after the minute. */
const AGAIN_MS: Milliseconds = 40_000

/** Quiet coins that are watched beside a busy one. */
const QUIET_COINS = 2

/** Tolerated difference, in percentage points: Binance's ticker may miss the last second. */
const DRIFT_POINTS = 0.05

const BTC: Coin = { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }

type Candles = ReadonlyMap<Market, MinuteCandle | undefined>

/**
 * Whether a busy and some quiet coins have their final candles of a minute when backfill would fetch them, and
 * whether these give the numbers that the frames give.
 */
export async function checkCandles(streams: Streams, access: ExchangeAccess): Promise<Verdict> {
  const { clock, signal } = access.context
  const minute = minuteOf(clock.now() + WARM_UP_MS) + 1
  const untilAfter = (ms: Milliseconds) => clock.wait(minuteStart(minute) + ms - clock.now(), signal)
  access.onProgress(`watching the streams, and the candles at ${formatTimestamp(minute)} UTC`)
  await untilAfter(LATEST_SNAPSHOT_MS)
  const chosen = [BTC, ...quietestOf(streams, minute)]
  const latest = new LatestTicks()
  for (const tick of [...streams.upbit.ticks, ...streams.binance.ticks]) latest.record(tick)
  await untilAfter(CANDLE_GRACE_MS)
  const early = await fetchCandlesOf(chosen, minute, access)
  await untilAfter(AGAIN_MS)
  const late = await fetchCandlesOf(chosen, minute, access)
  return worstOf([
    ...[...early].map(([market, candle]) => judgeFinal(market, candle, late.get(market))),
    ...chosen.map(coin => judgeSample(coin, takeSnapshot(latest, minute, [coin]), late)),
  ])
}

/** Coins with the fewest trades on Upbit, but at least one, in the minute that ends at M. */
function quietestOf({ coins, upbit }: Streams, minute: EpochMinute): readonly Coin[] {
  const trades = upbit.ticks.filter(
    ({ origin, eventAt }) => origin === 'stream' && minuteOf(eventAt) === minute - 1,
  )
  const countOf = ({ upbit }: Coin) => trades.filter(({ market }) => market === upbit).length
  const traded = coins.filter(coin => coin.symbol !== BTC.symbol && countOf(coin) > 0)
  return traded.sort((a, b) => countOf(a) - countOf(b)).slice(0, QUIET_COINS)
}

/** The rate's and the coins' candles of the minute that ends at M, as far as there are any. */
async function fetchCandlesOf(
  coins: readonly Coin[],
  before: EpochMinute,
  { rest }: ExchangeAccess,
): Promise<Candles> {
  const fetchOne = async (exchange: Exchange, market: Market) => {
    const { candles } = await rest.fetchCandles({ exchange, market, count: 1, before })
    return [market, candles.find(([open]) => open === before - 1)] as const
  }
  const ofCoin = ({ upbit, binance }: Coin) => [fetchOne('upbit', upbit), fetchOne('binance', binance)]
  return new Map(await Promise.all([fetchOne('upbit', RATE_MARKET), ...coins.flatMap(ofCoin)]))
}

/** Whether a market's candle was there early, and stayed as it was. */
function judgeFinal(market: Market, early?: MinuteCandle, late?: MinuteCandle): Verdict {
  const after = `after ${CANDLE_GRACE_MS / 1_000} s`
  if (early === undefined)
    return fail(`${market} not there ${after}`, 'Gaps are filled later than designed. Tell the project.')
  if (String(early) === String(late)) return ok(`${market} final ${after}`)
  const advice = 'Backfill may store a price that the exchange changes afterwards. Tell the project.'
  return fail(`${market} not final ${after}`, advice)
}

/** Whether a gap that is filled later gets the number that the frames have given. */
function judgeSample({ symbol, ...coin }: Coin, snapshot: Snapshot, candles: Candles): Verdict {
  const [sample] = snapshot.samples
  if (sample === undefined)
    return unknown(`${symbol} has no sample from frames (${snapshot.gaps[0]?.reason})`)
  const [krw, usdt, rate] = [coin.upbit, coin.binance, RATE_MARKET].map(market => candles.get(market)?.[1])
  if (krw === undefined || usdt === undefined || rate === undefined)
    return unknown(`${symbol} lacks a candle`)
  const [live, candle] = [percentOf(sample.premiumE4), percentOf(premiumE4(krw, usdt, rate))]
  const seen = `${symbol} ${live.toFixed(4)} % from frames, ${candle.toFixed(4)} % from candles`
  const isSame = krw === sample.upbitKrw && rate === sample.usdtKrw && Math.abs(live - candle) <= DRIFT_POINTS
  if (isSame) return ok(seen)
  return fail(seen, 'A gap that is filled later would get another number. Tell the project.')
}
