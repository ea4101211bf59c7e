export {
  type EmbeddedRedis,
  type EmbeddedRedisOptions,
  type RedisExit,
  startEmbeddedRedis,
} from './embedded-redis.ts'
export { findRedis } from './find-redis.ts'
export { freePort, isPortFree } from './port.ts'
export type { FindRedisOptions, RedisBinary } from './programs.ts'
export { projectRedis, projectRoot } from './project-redis.ts'
