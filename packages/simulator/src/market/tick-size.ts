/** Upbit's price step for a KRW price, in KRW: the table of 2025-07-31. */
export function krwTickSize(price: number): number {
  if (price >= 100) return largeKrwTickSize(price)
  if (price >= 10) return 0.1
  if (price >= 1) return 0.01
  return negativePowerOfTen(Math.min(8, 2 - Math.floor(Math.log10(price))))
}

/** A USDT price step that leaves a price about five digits, never coarser than 0.01. */
export function usdtTickSize(price: number): number {
  return negativePowerOfTen(Math.min(8, Math.max(2, 4 - Math.floor(Math.log10(price)))))
}

/** The multiple of `step` nearest to `price`, at least one step; the double nearest to the decimal. */
export function roundToStep(price: number, step: number): number {
  if (step >= 1) return Math.max(1, Math.round(price / step)) * step
  const perUnit = Math.round(1 / step)
  return Math.max(1, Math.round(price * perUnit)) / perUnit
}

/** The double nearest to 10^-digits; `10 ** -digits` is not always that. */
function negativePowerOfTen(digits: number): number {
  return 1 / 10 ** digits
}

function largeKrwTickSize(price: number): number {
  if (price >= 1_000_000) return 1_000
  if (price >= 500_000) return 500
  if (price >= 100_000) return 100
  if (price >= 50_000) return 50
  if (price >= 10_000) return 10
  return price >= 5_000 ? 5 : 1
}
