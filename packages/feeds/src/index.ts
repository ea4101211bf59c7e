export { Bases, DEFAULT_BASES } from './bases.ts'
export { binanceProtocol } from './binance.ts'
export { type Catalogue, matchCoins, type WantedCoins } from './catalogue/catalogue.ts'
export { checkListings, type Listings } from './catalogue/listings.ts'
export { DENIALS } from './catalogue/pairs.ts'
export { type Connection, type OpenSocket, openConnection } from './feed/connection.ts'
export { type Feed, type FeedStatus, openFeed } from './feed/feed.ts'
export { isFields } from './feed/frame.ts'
export type { Decoded, Protocol } from './feed/protocol.ts'
export { subscribedMarkets } from './feed/subscribed-markets.ts'
export { type HttpAnswer, userAgentOf } from './http.ts'
export { HttpError } from './http-error.ts'
export {
  type CandlePage,
  type CandleRequest,
  type MinuteCandle,
  type MinutesBetween,
  UnreadableCandles,
} from './rest/candles.ts'
export { RestClient } from './rest/client.ts'
export { Retry } from './retry.ts'
export { upbitProtocol } from './upbit.ts'
