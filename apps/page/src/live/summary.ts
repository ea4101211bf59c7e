import type { CoinPremium } from '@kimchi/client'

/** A list in four numbers; undefined for an empty one. */
export function summarise(coins: readonly CoinPremium[]) {
  const sorted = coins.toSorted((a, b) => a.premium_pct - b.premium_pct)
  const [lowest] = sorted
  const highest = sorted.at(-1)
  if (!lowest || !highest) return undefined
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1)
  const sum = middle.reduce((total, { premium_pct }) => total + premium_pct, 0)
  const newest = coins.reduce((a, b) => (b.snapshot_at > a.snapshot_at ? b : a))
  return {
    /** Percent, rounded to 4 decimals: the mean of two may have a fifth. */
    median: Math.round((10_000 * sum) / middle.length) / 10_000,
    highest,
    lowest,
    /** KRW per USDT. */
    rate: newest.usdt_krw,
  }
}
