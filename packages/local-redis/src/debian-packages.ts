import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { KimchiError, messageOf } from '@kimchi/core'
import { packageRecord, uninstalledLibraries, unpackPackages, updateLists } from './apt.ts'
import {
  type FindRedisOptions,
  findProgram,
  INSTALL_ADVICE,
  isUsableServer,
  type RedisBinary,
} from './programs.ts'

const run = promisify(execFile)

/** Packages of one server and its client, in order of preference. */
const SERVER_PACKAGES = [
  ['redis-server', 'redis-tools'],
  ['valkey-server', 'valkey-tools'],
] as const

/** Libraries are at most a few packages deep; the bound only stops a loop on broken metadata. */
const MAX_DEPTH = 5

/** Whether packages can be fetched and unpacked here without installing them. */
export async function isDebianFamily(path: string): Promise<boolean> {
  const programs = ['apt-get', 'apt-cache', 'dpkg-deb', 'dpkg-query', 'ldd']
  const found = await Promise.all(programs.map(name => findProgram(name, path)))
  return found.every(program => program !== undefined)
}

/**
 * The distribution's redis-server, redis-tools and the libraries they miss on this machine, unpacked under
 * `cacheDir` and found there the next time. A folder that appears under its final name is complete.
 *
 * @throws KimchiError `KIMCHI_ERR_REDIS_BINARY` when the packages can't be fetched, with what a person can do
 *   about it
 */
export async function fetchDebianRedis({ cacheDir, path, log }: FindRedisOptions): Promise<RedisBinary> {
  const folder = join(cacheDir, await systemName())
  const cached = await unpackedRedis(folder)
  if (cached !== undefined) return cached
  const temporary = join(cacheDir, `fetching-${randomUUID()}`)
  try {
    await mkdir(join(temporary, 'root'), { recursive: true })
    await unpackServer(temporary, path, log)
    await writeCliWrapper(temporary)
    await publish(temporary, folder)
  } catch (error) {
    if (error instanceof KimchiError) throw error
    throw new KimchiError(
      'KIMCHI_ERR_REDIS_BINARY',
      `Fetching the redis-server package failed: ${messageOf(error).trim()}\n${INSTALL_ADVICE}`,
      { cause: error },
    )
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
  const fetched = await unpackedRedis(folder)
  if (fetched !== undefined) return fetched
  throw new KimchiError(
    'KIMCHI_ERR_REDIS_BINARY',
    `This system's packaged Redis is older than 7.0 or does not run here.\n${INSTALL_ADVICE}`,
  )
}

/** Packages for one system must not be run on another one that shares the folder, e.g. in a container. */
async function systemName(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const field = (name: string) => new RegExp(`^${name}="?([\\w.-]+)`, 'm').exec(release)?.[1] ?? 'unknown'
  return `${field('ID')}-${field('VERSION_ID')}-${process.arch}`
}

async function unpackedRedis(folder: string): Promise<RedisBinary | undefined> {
  const root = join(folder, 'root')
  const env = { LD_LIBRARY_PATH: (await libraryFolders(root)).join(':') }
  for (const [name] of SERVER_PACKAGES) {
    const server = join(root, 'usr/bin', name)
    if (await isUsableServer(server, env)) return { server, cli: join(folder, 'redis-cli'), env }
  }
  return undefined
}

async function unpackServer(temporary: string, path: string, log: (line: string) => void): Promise<void> {
  const names = await offeredPackages(path, log)
  log(
    `No redis-server on PATH: fetching the system's packages (${names.join(', ')}) into the project's cache`,
  )
  let level: readonly string[] = names
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    await unpackPackages(level, temporary, path, log)
    if ((await missingLibraries(join(temporary, 'root'), path)).length === 0) return
    level = await uninstalledLibraries(level, path)
  }
  const missing = await missingLibraries(join(temporary, 'root'), path)
  throw new Error(`libraries not found in any package: ${missing.join(', ')}`)
}

async function offeredPackages(path: string, log: (line: string) => void): Promise<readonly string[]> {
  let offered = await firstOffered(path)
  if (offered === undefined) {
    await updateLists(path, log)
    offered = await firstOffered(path)
  }
  if (offered !== undefined) return offered
  throw new KimchiError(
    'KIMCHI_ERR_REDIS_BINARY',
    `Neither redis-server nor valkey-server is among this system's packages.\n${INSTALL_ADVICE}`,
  )
}

async function firstOffered(path: string): Promise<readonly string[] | undefined> {
  for (const names of SERVER_PACKAGES) {
    if ((await packageRecord(names[0], path)) !== '') return names
  }
  return undefined
}

async function missingLibraries(root: string, path: string): Promise<string[]> {
  const ldd = (await findProgram('ldd', path)) ?? 'ldd'
  const env = { PATH: path, LD_LIBRARY_PATH: (await libraryFolders(root)).join(':') }
  const missing = new Set<string>()
  for (const program of await serverPrograms(root)) {
    const { stdout } = await run(ldd, [program], { env })
    for (const [, library = ''] of stdout.matchAll(/(\S+) => not found/g)) missing.add(library)
  }
  return [...missing]
}

async function serverPrograms(root: string): Promise<string[]> {
  const folder = join(root, 'usr/bin')
  return (await readdir(folder)).filter(name => /-(server|cli)$/.test(name)).map(name => join(folder, name))
}

async function libraryFolders(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true }).catch(() => [])
  const folders = entries
    .filter(entry => /\.so(\.\d+)*$/.test(entry))
    .map(entry => dirname(join(root, entry)))
  return [...new Set(folders)].sort()
}

/** A redis-cli that runs as it stands, so that the command shown to a person is short. */
async function writeCliWrapper(folder: string): Promise<void> {
  const root = join(folder, 'root')
  const cli = (await serverPrograms(root)).find(program => program.endsWith('-cli'))
  if (cli === undefined) throw new Error('the client package holds no redis-cli')
  const libraries = (await libraryFolders(root)).map(path => `$here/${relative(folder, path)}`).join(':')
  const wrapper = join(folder, 'redis-cli')
  await writeFile(
    wrapper,
    `#!/bin/sh\nhere=$(cd "$(dirname "$0")" && pwd)\nLD_LIBRARY_PATH="${libraries}" exec "$here/${relative(folder, cli)}" "$@"\n`,
  )
  await chmod(wrapper, 0o755)
}

async function publish(temporary: string, folder: string): Promise<void> {
  try {
    await rename(temporary, folder)
  } catch {
    // Another program was faster, or an unusable folder is in the way: the first is kept, the second
    // replaced.
    if ((await unpackedRedis(folder)) !== undefined) return
    await rm(folder, { recursive: true, force: true })
    await rename(temporary, folder)
  }
}
