import { type Coin, MINUTE_MS, type Tick } from '../src/index.ts'

/** Minute 29,000,000 is 2025-02-19T21:20Z; every test counts its minutes from here. */
export const M = 29_000_000

/** The instant of minute M plus seconds. */
export function at(seconds: number, minute = M): number {
  return minute * MINUTE_MS + Math.round(seconds * 1_000)
}

export const BTC: Coin = { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }
export const ETH: Coin = { symbol: 'ETH', name: 'Ethereum', upbit: 'KRW-ETH', binance: 'ETHUSDT' }

/** A stream frame, received 100 ms after its event. */
export function upbitTick(market: string, price: number, eventAt: number, changes: Partial<Tick> = {}): Tick {
  return {
    exchange: 'upbit',
    market,
    price,
    eventAt,
    sentAt: eventAt,
    receivedAt: eventAt + 100,
    origin: 'stream',
    tradedAt: eventAt,
    tradable: true,
    ...changes,
  }
}

/** A miniTicker frame whose price differs from the one before. */
export function binanceTick(
  market: string,
  price: number,
  eventAt: number,
  changes: Partial<Tick> = {},
): Tick {
  return { ...upbitTick(market, price, eventAt), exchange: 'binance', tradable: undefined, ...changes }
}

/** A REST answer received at `receivedAt`, when it was also asked for. */
export function seed(market: string, price: number, receivedAt: number): Tick {
  return binanceTick(market, price, receivedAt, {
    receivedAt,
    sentAt: receivedAt,
    origin: 'seed',
    tradable: true,
  })
}
