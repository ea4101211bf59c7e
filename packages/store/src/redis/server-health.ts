import type { Milliseconds } from '@kimchi/core'
import { META_KEY } from '../layout.ts'
import type { RedisConnection } from './connect.ts'

export interface ServerHealth {
  readonly latencyMs: Milliseconds
  /** Bytes. */
  readonly memoryUsed: number
  /** Bytes at which writes are refused; undefined without a limit. */
  readonly memoryMax: number | undefined
}

/** Asks the server that holds our keys; undefined when it does not answer, or no writer has loaded the library. */
export async function readServerHealth(redis: RedisConnection): Promise<ServerHealth | undefined> {
  const startedAt = performance.now()
  const info = await redis.call('FCALL_RO', 'kp_memory', 1, META_KEY).catch(() => undefined)
  if (info === undefined) return undefined
  const numberOf = (field: string) => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(String(info))?.[1] ?? 0)
  return {
    latencyMs: performance.now() - startedAt,
    memoryUsed: numberOf('used_memory'),
    memoryMax: numberOf('maxmemory') || undefined,
  }
}
