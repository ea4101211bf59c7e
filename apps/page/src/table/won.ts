import type { CoinPremium } from '@kimchi/client'

/** A difference is shown with so many digits that count, if it has no more of them. */
const DIGITS = 3
/** A calculated price has so many digits that count: a premium's last decimal is the sixth digit of a price. */
const MOST_DIGITS = 6
/** The most decimals of a price. */
const DECIMALS = 12

/**
 * The won of a row as they are shown: on Upbit, on Binance by the row's own rate, and the gap between these two, to
 * the last digit.
 */
export function wonOf({ upbit_krw: krw, binance_usdt, usdt_krw }: CoinPremium) {
  const binance = binance_usdt * usdt_krw
  const toShow = (value: number, digits: number) => digits - 1 - Math.floor(Math.log10(Math.abs(value)))
  const decimals = Math.max(
    decimalsOf(krw),
    Math.min(toShow(krw - binance, DIGITS), toShow(binance, MOST_DIGITS), DECIMALS),
  )
  const rounded = Number(binance.toFixed(decimals))
  return { krw, binance: rounded, gap: Number((krw - rounded).toFixed(decimals)), decimals }
}

function decimalsOf(price: number): number {
  return price.toFixed(DECIMALS).replace(/0+$/, '').split('.')[1]?.length ?? 0
}
