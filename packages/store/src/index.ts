export type { ConnectOptions } from './client.ts'
export { decodeSample, encodeSample, MAX_MEMBER_BYTES } from './codec.ts'
export {
  type ConnectionState,
  connectRedis,
  type RedisArgument,
  type RedisConnection,
  type Subscription,
} from './connect.ts'
export { dailyKey, ingesterKey, KEY_PREFIX, KEYS, LAYOUT_VERSION, leaseKey, samplesKey } from './keys.ts'
export { type Lease, openLease } from './lease.ts'
export { LIBRARY_VERSION, type LibraryFunction, loadLibrary } from './library.ts'
export { MinuteQueue, type MinuteQueueOptions, type QueueTotals } from './minute-queue.ts'
export { type Board, type MinuteRange, openReader, type Readable, type SampleReader } from './reader.ts'
export { isRetryable } from './redis-error.ts'
export {
  describeTarget,
  parseRedisUrl,
  REDIS_URL_FORMS,
  type RedisHost,
  type RedisTarget,
} from './redis-url.ts'
export { redisUrlSetting } from './redis-url-setting.ts'
export type { KnownCoin } from './validate.ts'
export {
  openWriter,
  type SampleBatch,
  type SampleWriter,
  type WriteResult,
  type WriterOptions,
} from './writer.ts'
