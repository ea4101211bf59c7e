import { delimiter, dirname, join, resolve } from 'node:path'
import { KimchiError } from '@kimchi/core'
import { fetchDebianRedis } from './debian-packages.ts'
import { findProgram, INSTALL_ADVICE, isUsableServer, type RedisBinary } from './programs.ts'

/**
 * The Redis that this project's own commands and tests run, a `redis-server` (7.0+) or `valkey-server` (7.2+):
 * from PATH, else from packages fetched earlier, else, on a Debian-family system, from the distribution's
 * packages, unpacked under `cacheDir`. Safe to call from many programs at once.
 *
 * @param path the folders that are searched for programs, as PATH names them
 * @param log called with one line for each step that takes time
 * @param signal ends the fetching of packages
 * @param cacheDir folder for fetched packages. @default `.cache/redis` of the project
 * @throws KimchiError `KIMCHI_ERR_REDIS_BINARY` naming the command to run on each system, or why the signal aborted
 */
export async function projectRedis(
  path: string,
  log: (line: string) => void = () => {},
  signal?: AbortSignal,
  cacheDir = join(projectRoot(), '.cache/redis'),
): Promise<RedisBinary> {
  const rejected: string[] = []
  for (const name of ['redis-server', 'valkey-server']) {
    const server = await findProgram(name, path)
    if (server === undefined) continue
    if (await isUsableServer(server)) return { server, cli: await findCli(server, path) }
    rejected.push(server)
  }
  if (rejected.length > 0) log(`${rejected.join(' and ')}: older than 7.0 or broken, not used`)
  if (await findProgram('apt-get', path)) return fetchDebianRedis(cacheDir, log, signal)
  throw new KimchiError('KIMCHI_ERR_REDIS_BINARY', INSTALL_ADVICE)
}

/** The project's root folder, seen from `src` and from `dist` of this package. */
export function projectRoot(): string {
  return resolve(import.meta.dirname, '../../..')
}

async function findCli(server: string, path: string): Promise<string | undefined> {
  const folders = `${dirname(server)}${delimiter}${path}`
  return (await findProgram('redis-cli', folders)) ?? findProgram('valkey-cli', folders)
}
