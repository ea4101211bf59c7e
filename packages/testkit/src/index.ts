export { createMemoryLog, type LogLine, type MemoryLog } from './memory-log.ts'
export { startRedis, type Teardown, type TestRedis, type TestRedisOptions } from './redis.ts'
