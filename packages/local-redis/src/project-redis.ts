import { join, resolve } from 'node:path'
import { KimchiError } from '@kimchi/core'
import { fetchDebianRedis } from './debian-packages.ts'
import { findProgram, INSTALL_ADVICE, isUsableServer, type RedisBinary } from './programs.ts'

/**
 * The Redis that this project's own commands and tests run, a `redis-server` (7.0+) or `valkey-server` (7.2+):
 * from PATH, else from packages fetched earlier, else, on a Debian-family system, from the distribution's
 * packages, unpacked under `cacheDir`. Safe to call from many programs at once.
 *
 * @param log called with one line for each step that takes time
 * @param signal ends the fetching of packages
 * @param cacheDir folder for fetched packages. @default `.cache/redis` of the project
 * @throws KimchiError `KIMCHI_ERR_REDIS_BINARY` naming the command to run on each system, or why the signal aborted
 */
export async function projectRedis(
  log: (line: string) => void = () => {},
  signal?: AbortSignal,
  cacheDir = join(projectRoot(), '.cache/redis'),
): Promise<RedisBinary> {
  for (const name of ['redis-server', 'valkey-server']) {
    const server = await findProgram(name)
    if (server === undefined || !(await isUsableServer(server))) continue
    return { server, cli: (await findProgram('redis-cli')) ?? (await findProgram('valkey-cli')) }
  }
  if (await findProgram('apt-get')) return fetchDebianRedis(cacheDir, log, signal)
  throw new KimchiError('KIMCHI_ERR_REDIS_BINARY', INSTALL_ADVICE)
}

/** The project's root folder, seen from `src` and from `dist` of this package. */
export function projectRoot(): string {
  return resolve(import.meta.dirname, '../../..')
}
