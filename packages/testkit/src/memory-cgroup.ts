import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import type { Teardown } from './teardown.ts'

/** A limit of memory for processes, as containers have it. */
export type MemoryCgroup = NonNullable<ReturnType<typeof createMemoryCgroup>>

const MEBIBYTE = 1_048_576

/** A memory cgroup of version 2 or 1, removed with the test; undefined where none can be made. */
export function createMemoryCgroup(t: Teardown) {
  const isFirst = existsSync('/sys/fs/cgroup/memory')
  const folder = join(isFirst ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup', `kimchi-${process.pid}`)
  const [limit, peak] = isFirst
    ? ['memory.limit_in_bytes', 'memory.max_usage_in_bytes']
    : ['memory.max', 'memory.peak']
  try {
    mkdirSync(folder)
    accessSync(join(folder, limit), constants.W_OK)
  } catch {
    return undefined
  }
  t.teardown(() => eventually('it is empty', () => rmdirSync(folder) === undefined).catch(() => undefined))
  const members = join(folder, 'cgroup.procs')
  return {
    limit: (mebibytes: number) => writeFileSync(join(folder, limit), `${mebibytes * MEBIBYTE}`),
    add: (pid: number) => writeFileSync(members, `${pid}`),
    /** Makes a command one that runs inside from its first byte on. */
    wrap: (command: readonly string[]): readonly [program: string, ...args: string[]] => [
      'sh',
      '-c',
      'echo $$ > "$0" && exec "$@"',
      members,
      ...command,
    ],
    /** The most that was in use at a time, in mebibytes, files' pages included. */
    peak: () => Number(readFileSync(join(folder, peak), 'utf8')) / MEBIBYTE,
  }
}
