export { decodeSample, encodeSample, MAX_MEMBER_BYTES } from './codec.ts'
export { dailyKey, ingesterKey, KEY_PREFIX, KEYS, LAYOUT_VERSION, leaseKey, samplesKey } from './keys.ts'
export { type Lease, openLease } from './lease.ts'
export { LIBRARY_VERSION, type LibraryFunction, loadLibrary } from './library.ts'
export type { BoardRow } from './live-row.ts'
export {
  type MinuteQueue,
  type MinuteQueueOptions,
  openMinuteQueue,
  type QueueTotals,
} from './minute-queue.ts'
export { type Board, createReader, type MinuteRange, type Readable, type SampleReader } from './reader.ts'
export type { ConnectOptions } from './redis/client.ts'
export {
  type ConnectionState,
  openRedis,
  type RedisArgument,
  type RedisConnection,
  type Subscription,
} from './redis/connect.ts'
export { isRetryable } from './redis/redis-error.ts'
export {
  describeTarget,
  parseRedisUrl,
  REDIS_URL_FORMS,
  type RedisHost,
  type RedisTarget,
} from './redis/redis-url.ts'
export { redisUrlSetting } from './redis/redis-url-setting.ts'
export type { KnownCoin } from './validate.ts'
export {
  createWriter,
  type SampleBatch,
  type SampleWriter,
  type WriteResult,
  type WriterOptions,
} from './writer.ts'
