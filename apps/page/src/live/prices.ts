import type { CoinPremium } from '@kimchi/client'

/** Binance's price in won, by the row's own rate. */
export function binanceKrw({ binance_usdt, usdt_krw }: CoinPremium): number {
  return binance_usdt * usdt_krw
}

/** How many won a coin costs more on Upbit; negative where it costs less. */
export function gapKrw(coin: CoinPremium): number {
  return coin.upbit_krw - binanceKrw(coin)
}
