export { Bases, type BasesStatus, DEFAULT_BASES } from './bases.ts'
export { binanceProtocol } from './binance/protocol.ts'
export { type Catalogue, matchCoins, type WantedCoins } from './catalogue/catalogue.ts'
export {
  checkListings,
  type Listings,
  parseBinanceListings,
  parseUpbitListings,
} from './catalogue/listings.ts'
export { DENIALS } from './catalogue/pairs.ts'
export { type Connection, openConnection } from './feed/connection.ts'
export { type Feed, openFeed } from './feed/feed.ts'
export type { FeedStatus } from './feed/feed-status.ts'
export { isFields, parseFrame } from './feed/frame.ts'
export { HttpError } from './feed/http-error.ts'
export type { Decoded, Protocol } from './feed/protocol.ts'
export { subscribedMarkets } from './feed/subscribed-markets.ts'
export { type HttpAnswer, userAgentOf } from './http.ts'
export { type CandlePage, type CandleRequest, type MinuteCandle, RestClient } from './rest/client.ts'
export { retryDelay } from './retry-delay.ts'
export { upbitProtocol } from './upbit/protocol.ts'
