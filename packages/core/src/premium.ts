import type { Krw, KrwPerUsdt, PremiumE4, Usdt } from './units.ts'

/** Prices outside (0, 1e12] come from broken frames: the dearest KRW coin costs a ten-thousandth of that. */
const MAX_PRICE = 1e12

/** Whether a value can be a price: a finite number above 0 and at most 1e12. */
export function isPrice(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && value <= MAX_PRICE
}

/**
 * Premium of the KRW price over the USDT price, (krw / (usdt × usdtKrw) − 1) × 100, as an integer of 1/10,000
 * percent, rounded half away from zero; negative is a discount.
 *
 * Computed on the decimal digits of the three prices, so that anyone who reads them in a published row gets
 * the same integer, whatever the language or the order of multiplication. Each {@link isPrice}.
 *
 * @see docs/architecture.md#definitions
 */
export function premiumE4(krw: Krw, usdt: Usdt, usdtKrw: KrwPerUsdt): PremiumE4 {
  const local = decimalOf(krw)
  const price = decimalOf(usdt)
  const rate = decimalOf(usdtKrw)
  const globalExponent = price.exponent + rate.exponent
  const exponent = Math.min(local.exponent, globalExponent)
  const localKrw = local.digits * 10n ** BigInt(local.exponent - exponent)
  const globalKrw = price.digits * rate.digits * 10n ** BigInt(globalExponent - exponent)
  return Number(divideHalfAwayFromZero((localKrw - globalKrw) * 1_000_000n, globalKrw))
}

/** A premium in percent for the wire: 12345 → 1.2345. */
export function percentOf(premium: PremiumE4): number {
  return premium / 10_000
}

function decimalOf(price: number): { digits: bigint; exponent: number } {
  const [mantissa = '', exponent = '0'] = String(price).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

function divideHalfAwayFromZero(numerator: bigint, denominator: bigint): bigint {
  const magnitude = numerator < 0n ? -numerator : numerator
  const rounded = (2n * magnitude + denominator) / (2n * denominator)
  return numerator < 0n ? -rounded : rounded
}
