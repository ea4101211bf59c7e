import { join, resolve } from 'node:path'
import { findRedis } from './find-redis.ts'
import type { RedisBinary } from './programs.ts'

/**
 * The Redis that this project's own commands and tests run, fetched into `.cache/redis` of the project when
 * needed.
 * @param path the folders that are searched for programs, as PATH names them
 */
export function projectRedis(
  path: string,
  log: (line: string) => void = () => {},
  signal?: AbortSignal,
): Promise<RedisBinary> {
  return findRedis({ cacheDir: join(projectRoot(), '.cache/redis'), path, log, signal })
}

/** The project's root folder, seen from `src` and from `dist` of this package. */
export function projectRoot(): string {
  return resolve(import.meta.dirname, '../../..')
}
