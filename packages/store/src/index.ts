export { holderId, Lease } from './lease.ts'
export { loadLibrary } from './library.ts'
export type { BoardRow } from './live-row.ts'
export { MinuteQueue, type QueueStatus } from './minute-queue.ts'
export { type Board, type MinuteRange, type Readable, SampleReader } from './reader.ts'
export { type ConnectionStatus, openRedis, type RedisConnection } from './redis/connect.ts'
export { isRetryable } from './redis/redis-error.ts'
export { readingRedisUrlSetting, redisUrlSetting } from './redis/redis-url-setting.ts'
export { measureLatency, readServerHealth, type ServerHealth } from './redis/server-health.ts'
export type { KnownCoin } from './validate.ts'
export {
  type Listing,
  type SampleBatch,
  SampleWriter,
  type SettledMinute,
} from './writer.ts'
