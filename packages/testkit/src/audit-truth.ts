import type { Exchange, Simulator } from '@kimchi/simulator'
import type { StoredSample } from './stored-samples.ts'

/** What the exchanges made, whoever received it. */
export interface Truth extends Pick<Simulator, 'prices' | 'lastFrame'> {
  /** By what frames of a market may have been multiplied around an instant; 1 where nothing was. */
  scaled(exchange: Exchange, market: string, at: number): readonly number[]
  /** Whether a coin may have been known as halted at an instant: its minute may be a gap. @default never */
  halted?(symbol: string, at: number): boolean
}

const MINUTE = 60_000
const RATE = 'KRW-USDT'
const SAME = 1e-9

/** What is wrong with a stored sample; undefined when the exchange's frames, or its candles, say the same. */
export function isRight(symbol: string, sample: StoredSample, truth: Truth): string | undefined {
  const { upbitKrw, binanceUsdt, usdtKrw, premiumE4 } = sample
  const premium = (upbitKrw / (binanceUsdt * usdtKrw) - 1) * 1_000_000
  if (!(Math.abs(premiumE4 - premium) <= 0.5 + 1e-6)) return `premium should be ${premium}`
  return sample.isCandle ? checkCandle(symbol, sample, truth) : checkLive(symbol, sample, truth)
}

/**
 * Whether both exchanges were up in the minute that ends at M, and the coin's prices are known and young
 * enough.
 */
export function isExpected(symbol: string, minute: number, { prices }: Pick<Truth, 'prices'>): boolean {
  const at = minute * MINUTE
  const traded = (exchange: Exchange, markets: readonly string[]) =>
    markets.some(market => prices.traded(exchange, market, at - MINUTE, at))
  const isYoung = (exchange: Exchange, market: string) =>
    (prices.lastTrade(exchange, market, at)?.at ?? 0) >= at - 60 * MINUTE
  return (
    traded('upbit', [`KRW-${symbol}`, 'KRW-BTC', RATE]) &&
    traded('binance', [`${symbol}USDT`, 'BTCUSDT']) &&
    isYoung('upbit', `KRW-${symbol}`) &&
    isYoung('binance', `${symbol}USDT`) &&
    isYoung('upbit', RATE)
  )
}

/** The close of a candle is the last trade before its end. */
function checkCandle(symbol: string, sample: StoredSample, truth: Truth): string | undefined {
  const { prices } = truth
  const at = sample.minute * MINUTE
  const expected = {
    upbitKrw: prices.lastTrade('upbit', `KRW-${symbol}`, at)?.price,
    binanceUsdt: prices.lastTrade('binance', `${symbol}USDT`, at)?.price,
    usdtKrw: prices.lastTrade('upbit', RATE, at)?.price,
  }
  const isSame = Object.entries(expected).every(
    ([leg, price]) => sample[leg as keyof typeof expected] === price,
  )
  if (!isSame) return `candles say ${JSON.stringify(expected)}`
  return isExpected(symbol, sample.minute, truth) ? undefined : 'an exchange was not up'
}

/**
 * Each leg must be the exchange's own last frame before M; nothing else is right, however late frames came.
 */
function checkLive(symbol: string, sample: StoredSample, { lastFrame, scaled }: Truth): string | undefined {
  const at = sample.minute * MINUTE
  const legs = [
    ['upbit', `KRW-${symbol}`, sample.upbitKrw],
    ['upbit', RATE, sample.usdtKrw],
    ['binance', `${symbol}USDT`, sample.binanceUsdt],
  ] as const
  for (const [exchange, market, price] of legs) {
    const last = lastFrame(exchange, market, at)?.price ?? Number.NaN
    const isSame = scaled(exchange, market, at).some(factor => Math.abs(price / (last * factor) - 1) <= SAME)
    if (!isSame) return `${exchange}'s last ${market} before the minute is ${last}`
  }
  return undefined
}
