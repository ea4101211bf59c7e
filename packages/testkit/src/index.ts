export { ask, askTwice, type RawResponse } from './ask.ts'
export { type AuditResult, audit } from './audit.ts'
export { sampleProblem } from './truth.ts'
export { createMemoryCgroup, type MemoryCgroup } from './memory-cgroup.ts'
export { eventually, passUntil, type Sought, stayClearOfMidnight } from './eventually.ts'
export { createMemoryLog } from './memory-log.ts'
export { followProgram, type Program, startProgram } from './program.ts'
export {
  createFolder,
  type RawRedis,
  startRedis,
  type Teardown,
  type TestRedis,
  type TestRedisOptions,
} from './redis.ts'
export { type RedisGroup, startCluster, startSentinels } from './redis-groups.ts'
export { untilIdle } from './until-idle.ts'
