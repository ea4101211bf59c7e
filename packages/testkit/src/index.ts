export { ask, type RawResponse } from './ask.ts'
export { type AuditOptions, audit, foldDay } from './audit.ts'
export { eventually, passUntil, type Sought } from './eventually.ts'
export { listen } from './listen.ts'
export { createMemoryCgroup, type MemoryCgroup } from './memory-cgroup.ts'
export { createMemoryLog } from './memory-log.ts'
export {
  type Carrier,
  type End,
  fetchFrom,
  MEMORY_URLS,
  networkOf,
  openWire,
  responseOf,
  type Wire,
} from './memory-network.ts'
export { stayClearOfMidnight } from './midnight.ts'
export { followProgram, type Program, startProgram } from './program.ts'
export { type RawRedis, startRedis, type TestRedis, type TestRedisOptions } from './redis.ts'
export { readSamples, readSettled } from './stored-samples.ts'
export { createFolder, type Teardown, withTeardown } from './teardown.ts'
export { candleSamples, isExpected, sampleProblem } from './truth.ts'
export { untilIdle } from './until-idle.ts'
export { beginWildQuarter, WILD_MINUTES } from './wild-quarter.ts'
