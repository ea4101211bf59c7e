export { BINANCE_WS_URL, binanceProtocol, createBinanceDecoder } from './binance/binance.ts'
export { BINANCE_REST_URL, type BinanceSeedOptions, binanceSeed } from './binance/binance-seed.ts'
export {
  type Catalogue,
  type LeftOut,
  type LeftOutKind,
  type MatchOptions,
  matchCoins,
  type Wanted,
} from './catalogue/catalogue.ts'
export {
  type BinanceMarket,
  checkListing,
  type Listing,
  parseBinanceSymbols,
  parseUpbitMarkets,
  type UpbitMarket,
} from './catalogue/listings.ts'
export {
  ALIASES,
  DENIALS,
  LEFT_OUT,
  MULTIPLIERS,
  type Multiplied,
  type Pairing,
  perCoinPrice,
} from './catalogue/pairs.ts'
export { retryDelay } from './feed/backoff.ts'
export { type Feed, type FeedOptions, type FeedTiming, openFeed } from './feed/feed.ts'
export type { FeedError, FeedState, FeedStatus } from './feed/feed-status.ts'
export { HttpError } from './feed/http-error.ts'
export type { Decoded, Decoder, Keepalive, Protocol } from './feed/protocol.ts'
export type { Seed } from './feed/seeding.ts'
export { openRestChild, type RestChild, type RestChildOptions } from './rest/client.ts'
export type { Listings, MinuteCandle } from './rest/messages.ts'
export { createUpbitDecoder, UPBIT_WS_URL, upbitProtocol } from './upbit/upbit.ts'
