export { type EmbeddedRedis, startEmbeddedRedis } from './embedded-redis.ts'
export { freePort, probePort } from './port.ts'
export type { RedisBinary } from './programs.ts'
export { projectRedis, projectRoot } from './project-redis.ts'
