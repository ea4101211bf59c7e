import type { CoinPremium } from './types.ts'

/**
 * The step in KRW in which a price moves on Upbit's KRW markets since 2025-07-31: a thousandth of 1, 5, 10, 50, … from
 * 1,000 KRW on, at most 1,000; a hundredth of 1, 10, 100, … below, at least 0.00000001.
 * @see https://docs.upbit.com/kr/docs/krw-market-info (the table of 2026-05-04)
 */
export function priceStep(krw: number): number {
  const power = 10 ** Math.floor(Math.log10(krw))
  if (krw < 1_000) return Math.max(power / 100, 1e-8)
  return Math.min((krw < 5 * power ? power : 5 * power) / 1_000, 1_000)
}

/**
 * How exact a row's premium is, in percentage points: by this it moves when the coin and USDT move by one price step
 * each on Upbit. A smaller difference may be nothing but their rounding.
 */
export function resolutionPct({ upbit_krw, usdt_krw }: CoinPremium): number {
  return 100 * (priceStep(upbit_krw) / upbit_krw + priceStep(usdt_krw) / usdt_krw)
}
