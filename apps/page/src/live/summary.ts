import { type CoinPremium, resolutionPct } from '@kimchi/client'

/**
 * Rows of one minute in four numbers; undefined without any. A coin that is nearer to the median than its own premium
 * is exact is neither highest nor lowest: the next price step may turn it round.
 */
export function summarise(coins: readonly CoinPremium[]) {
  const sorted = coins.toSorted((a, b) => a.premium_pct - b.premium_pct)
  const [first] = sorted
  if (!first) return undefined
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1)
  const sum = middle.reduce((total, { premium_pct }) => total + premium_pct, 0)
  /** Percent, rounded to 4 decimals: the mean of two may have a fifth. */
  const median = Math.round((10_000 * sum) / middle.length) / 10_000
  const apart = sorted.filter(coin => Math.abs(coin.premium_pct - median) > resolutionPct(coin))
  return {
    median,
    highest: apart.findLast(({ premium_pct }) => premium_pct > median),
    lowest: apart.find(({ premium_pct }) => premium_pct < median),
    /** KRW per USDT. */
    rate: first.usdt_krw,
  }
}
