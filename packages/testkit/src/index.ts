export { startRedis, type Teardown, type TestRedis, type TestRedisOptions } from './redis.ts'
