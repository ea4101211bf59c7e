import type { CoinPremium } from '@kimchi/client'

/** A bank's KRW per USD, as a reader has entered it on this device. */
export interface BankRate {
  readonly krw: number
  /** Milliseconds since the epoch, by this device's clock. */
  readonly at: number
}

/** KRW per USD; others are mistyped. */
const [LEAST, MOST] = [500, 5_000]
const OLD_MS = 86_400_000

/** The rate that a text such as `1,380` states; undefined for what is none. */
export function parseRate(text: string): number | undefined {
  if (!/^(\d{1,3}(,\d{3})*|\d+)(\.\d+)?$/.test(text)) return undefined
  const krw = Number(text.replaceAll(',', ''))
  return krw >= LEAST && krw <= MOST ? krw : undefined
}

export function isOld({ at }: BankRate, now: number): boolean {
  return now - at > OLD_MS
}

/** A coin's premium in percent, with dollars at a bank's rate in place of USDT. */
export function bankPremium({ premium_pct, usdt_krw }: CoinPremium, { krw }: BankRate): number {
  return ((1 + premium_pct / 100) * (usdt_krw / krw) - 1) * 100
}
