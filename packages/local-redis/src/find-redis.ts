import { delimiter, dirname } from 'node:path'
import { KimchiError } from '@kimchi/core'
import { fetchDebianRedis, isDebianFamily } from './debian-packages.ts'
import { findProgram, INSTALL_ADVICE, isUsableServer, type RedisBinary } from './programs.ts'

/** Where to find a Redis. */
export interface FindRedisOptions {
  /** Folder for fetched packages, e.g. `.cache/redis` in the project's root. */
  readonly cacheDir: string
  /** Text of the `PATH` variable. */
  readonly path: string
  /** Called with one line for each step that takes time. */
  readonly log: (line: string) => void
  /** Ends the fetching of packages. */
  readonly signal?: AbortSignal | undefined
}

/**
 * A `redis-server` (7.0+) or `valkey-server` (7.2+): from PATH, else from packages fetched earlier, else, on
 * a Debian-family system, from the distribution's packages, unpacked under `cacheDir`. Safe to call from many
 * programs at once.
 *
 * @throws KimchiError `KIMCHI_ERR_REDIS_BINARY` naming the command to run on each system, or why the signal aborted
 */
export async function findRedis({ cacheDir, path, log, signal }: FindRedisOptions): Promise<RedisBinary> {
  const rejected: string[] = []
  for (const name of ['redis-server', 'valkey-server']) {
    const server = await findProgram(name, path)
    if (server === undefined) continue
    if (await isUsableServer(server)) return { server, cli: await findCli(server, path) }
    rejected.push(server)
  }
  if (rejected.length > 0) log(`${rejected.join(' and ')}: older than 7.0 or broken, not used`)
  if (await isDebianFamily(path)) return fetchDebianRedis(cacheDir, log, signal)
  throw new KimchiError('KIMCHI_ERR_REDIS_BINARY', INSTALL_ADVICE)
}

async function findCli(server: string, path: string): Promise<string | undefined> {
  const folders = `${dirname(server)}${delimiter}${path}`
  return (await findProgram('redis-cli', folders)) ?? findProgram('valkey-cli', folders)
}
