import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findRedis } from './find-redis.ts'
import type { RedisBinary } from './programs.ts'

/**
 * The Redis that this project's own commands and tests run, fetched into `.cache/redis` of the project when
 * needed.
 * @param path the folders in which programs are looked for, as PATH names them
 */
export function projectRedis(path: string, log: (line: string) => void = () => {}): Promise<RedisBinary> {
  return findRedis({ cacheDir: join(projectRoot(), '.cache/redis'), path, log })
}

/** The project's root folder: the nearest one above this file whose package.json names workspaces. */
export function projectRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!isRoot(folder)) {
    if (dirname(folder) === folder) throw new Error('no package.json with workspaces above this package')
    folder = dirname(folder)
  }
  return folder
}

function isRoot(folder: string): boolean {
  const file = join(folder, 'package.json')
  return existsSync(file) && 'workspaces' in JSON.parse(readFileSync(file, 'utf8'))
}
