import { readdir, readFile, readlink } from 'node:fs/promises'
import type { RawRedis } from '@kimchi/testkit'

/** What one process holds of the machine. */
export interface ProcessUse {
  /** Resident memory, MB. */
  readonly rssMb: number
  /** Open file handles, sockets included. */
  readonly handles: number
  readonly sockets: number
}

/** What Redis holds. */
export interface RedisUse {
  readonly keys: number
  /** Memory of its data and buffers, MB. */
  readonly usedMb: number
  readonly clients: number
}

/** What a process uses now, by Linux's /proc; undefined when it is gone. */
export async function processUse(pid: number): Promise<ProcessUse | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    const kb = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
    const handles = await readdir(`/proc/${pid}/fd`)
    const targets = await Promise.all(handles.map(fd => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
    const sockets = targets.filter(target => target.startsWith('socket:')).length
    return { rssMb: kb / 1_024, handles: handles.length, sockets }
  } catch {
    return undefined
  }
}

/** What Redis holds now; undefined while it does not answer. */
export async function redisUse(redis: RawRedis): Promise<RedisUse | undefined> {
  try {
    const [keys, memory, clients] = await Promise.all([
      redis.dbsize(),
      redis.info('memory'),
      redis.info('clients'),
    ])
    return {
      keys,
      usedMb: Number(/used_memory:(\d+)/.exec(memory)?.[1]) / 1_048_576,
      clients: Number(/connected_clients:(\d+)/.exec(clients)?.[1]),
    }
  } catch {
    return undefined
  }
}
