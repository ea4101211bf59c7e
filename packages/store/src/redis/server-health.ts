import type { Milliseconds } from '@kimchi/core'
import { META_KEY } from '../keys.ts'
import type { RedisConnection } from './connect.ts'

/** How the server that holds the data is doing. */
export interface ServerHealth {
  readonly latencyMs: Milliseconds
  /** Bytes. */
  readonly memoryUsed: number
  /** Bytes at which writes are refused; undefined without a limit. */
  readonly memoryMax: number | undefined
}

/** Asks the server that holds our keys; undefined when it does not answer. */
export async function readServerHealth(redis: RedisConnection): Promise<ServerHealth | undefined> {
  let health: ServerHealth | undefined
  const ask = redis.callPrimaries(async call => {
    const startedAt = performance.now()
    // A Cluster's other primaries refuse our keys with MOVED.
    const isOurs = await call('HGET', META_KEY, 'layout').then(
      () => true,
      () => false,
    )
    if (!isOurs) return
    const latencyMs = performance.now() - startedAt
    const info = String(await call('INFO', 'memory'))
    const numberOf = (field: string) => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)
    health = {
      latencyMs,
      memoryUsed: numberOf('used_memory'),
      memoryMax: numberOf('maxmemory') || undefined,
    }
  })
  await ask.catch(() => {})
  return health
}
