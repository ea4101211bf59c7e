export { binanceProtocol } from './binance.ts'
export { type Catalogue, matchCoins, type WantedCoins } from './catalogue/catalogue.ts'
export { checkListings, type Listings } from './catalogue/listings.ts'
export { DENIALS } from './catalogue/pairs.ts'
export { createDoors, DEFAULT_BASES, type Door, type DoorOptions, type Doors } from './door/door.ts'
export { NoLongerWanted, type Want } from './door/way.ts'
export { type Connection, openConnection } from './feed/connection.ts'
export { type Feed, type FeedStatus, openFeed } from './feed/feed.ts'
export { isFields } from './feed/parse-frame.ts'
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
