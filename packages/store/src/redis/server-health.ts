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
  /** Whether the last writes to its disk succeeded. */
  readonly persists: boolean
}

/** How long the server that holds our keys takes to answer; undefined when it does not. */
export async function measureLatency(
  redis: Pick<RedisConnection, 'call'>,
): Promise<Milliseconds | undefined> {
  const startedAt = performance.now()
  try {
    await redis.call('HGET', META_KEY, 'layout')
    return performance.now() - startedAt
  } catch {
    // The connection's status tells the reason.
    return undefined
  }
}

/** Asks the server that holds our keys; undefined when it does not answer. */
export async function readServerHealth(redis: RedisConnection): Promise<ServerHealth | undefined> {
  let health: ServerHealth | undefined
  const ask = redis.callPrimaries(async call => {
    // A Cluster's other primaries refuse our keys with MOVED.
    const latencyMs = await measureLatency({ call })
    if (latencyMs === undefined) return
    const info = String(await call('INFO', 'memory', 'persistence'))
    const numberOf = (field: string) => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)
    health = {
      latencyMs,
      memoryUsed: numberOf('used_memory'),
      memoryMax: numberOf('maxmemory') || undefined,
      persists: !/^(aof_last_write|aof_last_bgrewrite|rdb_last_bgsave)_status:err/m.test(info),
    }
  })
  await ask.catch(() => {})
  return health
}
