export {
  type Client,
  type ClientOptions,
  createClient,
  type LiveUpdate,
  type WatchOptions,
} from './client.ts'
export { ApiError, type ApiErrorCode } from './errors.ts'
export { priceStep, resolutionPct } from './resolution.ts'
export { type Clock, utcMs } from './time.ts'
export type { CoinPremium, DailyPremium, History, LiveList } from './types.ts'
