import { type Exchange, percentOf, premiumE4, RATE_MARKET } from '@kimchi/core'
import { type Check, fail, nameOf, ok, seconds, unknown, type Verdict } from '../finding.ts'
import type { CandleWatch, LiveSample, World } from '../world.ts'

/** The service fetches a candle this long after its minute's end. */
const READ_AFTER_MS = 10_000

/** Binance's ticker may lack the last second: points. */
const DRIFT_POINTS = 0.05

/** What the service assumes of candles. */
export const candleChecks: readonly Check[] = [
  {
    check: "Upbit's candles, page",
    expected: 'at most 200, and none that opens at `to`',
    judge: ({ page }) => {
      if (page === undefined) return unknown('no answer')
      const seen = `${page.count} for 201, the newest opens ${seconds(page.to - page.newest)} before \`to\``
      return page.count <= 200 && page.newest < page.to
        ? ok(seen)
        : fail(seen, 'Gaps are filled wrong. Tell the project.')
    },
  },
  ...(['upbit', 'binance'] as const).map(exchange => ({
    check: `${nameOf(exchange)}'s candles, when`,
    expected: 'there, and no longer changing, 10 s after the minute',
    judge: ({ candles }: World) => judgeWatches(exchange, candles),
  })),
  {
    check: 'sample from candles and from frames',
    expected: `the same won prices, and premiums within ${DRIFT_POINTS} points`,
    judge: judgeSamples,
  },
]

function judgeWatches(exchange: Exchange, all: World['candles']): Verdict {
  const watches = all.filter(watch => watch.exchange === exchange && watch.watchedMs > READ_AFTER_MS)
  if (watches.length === 0) return unknown('never watched')
  const seen = watches.map(wordsOf).join('; ')
  const isLate = ({ thereMs, changedMs }: CandleWatch) =>
    thereMs === undefined || Math.max(thereMs, changedMs ?? 0) > READ_AFTER_MS
  const advice =
    'Minutes are closed later; a candle that changes after it was read is stored wrong. Tell the project.'
  return watches.some(isLate) ? fail(seen, advice) : ok(seen)
}

function wordsOf({ market, thereMs, changedMs, watchedMs }: CandleWatch): string {
  if (thereMs === undefined) return `${market} later than ${seconds(watchedMs)}`
  return `${market} ${seconds(thereMs)}${changedMs === undefined ? '' : `, changed until ${seconds(changedMs)}`}`
}

function judgeSamples({ samples, candles }: World): Verdict {
  if (samples.length === 0) return unknown('no sample')
  const comparisons = samples.map(live => compare(live, candles))
  const seen = comparisons.map(({ words }) => words).join('; ')
  if (comparisons.some(({ isEqual }) => isEqual === false)) {
    return fail(seen, 'A gap that is filled later would get another number. Tell the project.')
  }
  return comparisons.some(({ isEqual }) => isEqual === undefined) ? unknown(seen) : ok(seen)
}

/** `isEqual` is undefined where one of both is not known. */
function compare({ coin, minute, sample }: LiveSample, candles: readonly CandleWatch[]) {
  const closeOf = (market: string) =>
    candles.find(watch => watch.market === market && watch.minute === minute)?.candle?.[1]
  if (typeof sample === 'string')
    return { words: `${coin.symbol} no sample from frames (${sample})`, isEqual: undefined }
  const [krw, usdt, rate] = [closeOf(coin.upbit), closeOf(coin.binance), closeOf(RATE_MARKET)]
  if (krw === undefined || usdt === undefined || rate === undefined) {
    return { words: `${coin.symbol}: a candle is missing`, isEqual: undefined }
  }
  const [live, candle] = [percentOf(sample.premiumE4), percentOf(premiumE4(krw, usdt, rate))]
  const isEqual =
    krw === sample.upbitKrw && rate === sample.usdtKrw && Math.abs(live - candle) <= DRIFT_POINTS
  return {
    words: `${coin.symbol} ${live.toFixed(4)} % from frames, ${candle.toFixed(4)} % from candles`,
    isEqual,
  }
}
