import type { Sample } from '@kimchi/core'
import type { Exchange, Simulator } from '@kimchi/simulator'

/** What the exchanges made, whoever received it. */
export interface Truth extends Pick<Simulator, 'prices' | 'lastFrame'> {
  /** Whether frames of a market may have been lost around an instant, of which nothing tells. @default never */
  unseen?(market: string, at: number): boolean
  /** Whether the ingester may have held the coin for halted then: its minute may be a gap. @default never */
  halted?(symbol: string, at: number): boolean
  /** Whether samples of a day were kept that have expired: nobody knows any more what its row is of. @default never */
  expired?(day: number): boolean
}

const MINUTE = 60_000
const RATE = 'KRW-USDT'

/**
 * What is wrong with a sample; undefined when the exchanges say the same. A leg of a live one must be the
 * exchange's own last frame before the minute, however late frames came; that of a candle its last trade.
 */
export function sampleProblem(sample: Sample, truth: Truth): string | undefined {
  const { symbol, minute, source, upbitKrw, binanceUsdt, usdtKrw, premiumE4 } = sample
  const premium = (upbitKrw / (binanceUsdt * usdtKrw) - 1) * 1_000_000
  if (!(Math.abs(premiumE4 - premium) <= 0.5 + 1e-6)) return `premium should be ${premium}`
  const legs = [
    ['upbit', `KRW-${symbol}`, upbitKrw],
    ['upbit', RATE, usdtKrw],
    ['binance', `${symbol}USDT`, binanceUsdt],
  ] as const
  const at = minute * MINUTE
  const isLive = source === 'live'
  for (const [exchange, market, price] of legs) {
    const lastOf = isLive ? truth.lastFrame : truth.prices.lastTrade
    const last = lastOf(exchange, market, at)?.price
    if (price === last || (isLive && truth.unseen?.(market, at))) continue
    return `${exchange}'s last ${market} before the minute is ${last}`
  }
  const { 'no-rate': hasNoRate, 'no-upbit-price': hasNoPrice, ...others } = reasons(symbol, minute, truth)
  if (hasNoRate?.() || hasNoPrice?.()) return 'a price is carried for more than an hour'
  // The stream tells of trades, and a seed counts as one.
  return isLive || Object.values(others).every(holds => !holds()) ? undefined : 'an exchange was not up'
}

/**
 * Whether both exchanges were up in the minute that ends at M, and the coin's prices are known and young
 * enough.
 */
export function isExpected(symbol: string, minute: number, truth: Pick<Truth, 'prices'>): boolean {
  return Object.values(reasons(symbol, minute, truth)).every(holds => !holds())
}

/** Whether the exchanges give this reason for a minute without a sample. A halt is no matter of prices. */
export function isReason(
  reason: string,
  symbol: string,
  minute: number,
  truth: Pick<Truth, 'prices'>,
): boolean {
  return reasons(symbol, minute, truth)[reason]?.() ?? false
}

/** Why a minute can have no sample, in the words of a settled one. */
function reasons(
  symbol: string,
  minute: number,
  { prices }: Pick<Truth, 'prices'>,
): Readonly<Record<string, () => boolean>> {
  const at = minute * MINUTE
  const isDown = (exchange: Exchange, ...markets: readonly string[]) =>
    !markets.some(market => prices.traded(exchange, market, at - MINUTE, at))
  const isOld = (exchange: Exchange, market: string) =>
    (prices.lastTrade(exchange, market, at)?.at ?? 0) < at - 60 * MINUTE
  return {
    'upbit-down': () => isDown('upbit', `KRW-${symbol}`, 'KRW-BTC', RATE),
    'binance-down': () => isDown('binance', `${symbol}USDT`, 'BTCUSDT'),
    'no-upbit-price': () => isOld('upbit', `KRW-${symbol}`),
    'no-binance-price': () => isOld('binance', `${symbol}USDT`),
    'no-rate': () => isOld('upbit', RATE),
  }
}

/** What a day's candles make known: an import stores its fold. @param day days since the epoch */
export function candleSamples(symbol: string, day: number, truth: Pick<Truth, 'prices'>) {
  const minutes = Array.from({ length: 1_440 }, (_, index) => day * 1_440 + index)
  return minutes
    .filter(minute => isExpected(symbol, minute, truth))
    .map(minute => {
      const priceOf = (exchange: Exchange, market: string) =>
        truth.prices.lastTrade(exchange, market, minute * MINUTE)?.price ?? Number.NaN
      const usdt = priceOf('binance', `${symbol}USDT`) * priceOf('upbit', RATE)
      return { minute, premiumE4: Math.round((priceOf('upbit', `KRW-${symbol}`) / usdt - 1) * 1_000_000) }
    })
}
