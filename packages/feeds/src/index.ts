export { retryDelay } from './backoff.ts'
export { BINANCE_WS_URL, binanceProtocol, openBinanceDecoder } from './binance.ts'
export { BINANCE_REST_URL, type BinanceSeedOptions, binanceSeed } from './binance-seed.ts'
export {
  type Catalogue,
  type LeftOut,
  type LeftOutKind,
  type MatchOptions,
  matchCoins,
  type Wanted,
} from './catalogue.ts'
export { type Feed, type FeedOptions, type FeedTiming, openFeed } from './feed.ts'
export type { FeedError, FeedState, FeedStatus } from './feed-status.ts'
export {
  type BinanceMarket,
  checkListing,
  type Listing,
  parseBinanceSymbols,
  parseUpbitMarkets,
  type UpbitMarket,
} from './listings.ts'
export type { Log } from './log.ts'
export {
  ALIASES,
  DENIALS,
  LEFT_OUT,
  MULTIPLIERS,
  type Multiplied,
  type Pairing,
  perCoinPrice,
} from './pairs.ts'
export type { Decoded, Decoder, Keepalive, Protocol } from './protocol.ts'
export { RefusalError } from './refusal.ts'
export { openRestChild, type RestChild, type RestChildOptions } from './rest/client.ts'
export type { Listings, MinuteCandle } from './rest/messages.ts'
export type { Seed } from './seeding.ts'
export { openUpbitDecoder, UPBIT_WS_URL, upbitProtocol } from './upbit.ts'
