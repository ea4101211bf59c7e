import type { CoinPremium } from '@kimchi/client'

/** Rows of one minute in four numbers; undefined without any. */
export function summarise(coins: readonly CoinPremium[]) {
  const sorted = coins.toSorted((a, b) => a.premium_pct - b.premium_pct)
  const [lowest] = sorted
  const highest = sorted.at(-1)
  if (!lowest || !highest) return undefined
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1)
  const sum = middle.reduce((total, { premium_pct }) => total + premium_pct, 0)
  return {
    /** Percent, rounded to 4 decimals: the mean of two may have a fifth. */
    median: Math.round((10_000 * sum) / middle.length) / 10_000,
    highest,
    lowest,
    /** KRW per USDT. */
    rate: lowest.usdt_krw,
  }
}
