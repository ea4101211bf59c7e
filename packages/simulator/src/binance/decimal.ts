/** A price or volume as Binance writes it: a decimal string with eight digits behind the point. */
export function decimal(value: number): string {
  return value.toFixed(8)
}
