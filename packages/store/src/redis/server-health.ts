import type { Milliseconds } from '@kimchi/core'
import { KEYS } from '../keys.ts'
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
export async function measureLatency(redis: RedisConnection): Promise<Milliseconds | undefined> {
  const startedAt = performance.now()
  // What is wrong is in the connection's status, with the reason.
  const isAnswered = await redis.call('HGET', KEYS.meta, 'layout').then(
    () => true,
    () => false,
  )
  return isAnswered ? performance.now() - startedAt : undefined
}

/** Asks the server; undefined when it does not answer. Of a Cluster's primaries the fullest is told of. */
export async function readServerHealth(redis: RedisConnection): Promise<ServerHealth | undefined> {
  const latencyMs = await measureLatency(redis)
  if (latencyMs === undefined) return undefined
  const found: ServerHealth[] = []
  const ask = redis.callPrimaries(async call => {
    const info = String(await call('INFO', 'memory', 'persistence'))
    const numberOf = (field: string) => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)
    found.push({
      latencyMs,
      memoryUsed: numberOf('used_memory'),
      memoryMax: numberOf('maxmemory') || undefined,
      persists: !/^(aof_last_write|aof_last_bgrewrite|rdb_last_bgsave)_status:err/m.test(info),
    })
  })
  await ask.catch(() => {})
  return found.toSorted((a, b) => b.memoryUsed - a.memoryUsed)[0]
}
