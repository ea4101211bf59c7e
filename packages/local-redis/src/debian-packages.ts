import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { KimchiError, messageOf } from '@kimchi/core'
import { INSTALL_ADVICE, isUsableServer, type RedisBinary } from './programs.ts'

const PACKAGES = ['redis-server', 'redis-tools']

const TIMEOUT_MS = 120_000

const run = promisify(execFile)

/**
 * The distribution's redis-server, redis-tools and the libraries that this machine lacks, unpacked under
 * `cacheDir` and found there the next time. A folder that appears under its final name is complete.
 *
 * @throws KimchiError `KIMCHI_ERR_REDIS_BINARY` when the packages can't be fetched, with what a person can do
 *   about it
 */
export async function fetchDebianRedis(
  cacheDir: string,
  log: (line: string) => void,
  signal: AbortSignal | undefined,
): Promise<RedisBinary> {
  const folder = join(cacheDir, await systemName())
  const fetched = { server: join(folder, 'redis-server'), cli: join(folder, 'redis-cli') }
  if (await isUsableServer(fetched.server)) return fetched
  const temporary = join(cacheDir, `fetching-${randomUUID()}`)
  try {
    const unpacked = join(temporary, 'unpacked')
    await mkdir(join(unpacked, 'root'), { recursive: true })
    await downloadPackages(temporary, log, signal)
    for (const file of await readdir(temporary)) {
      if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', join(temporary, file), join(unpacked, 'root')])
    }
    await writeWrappers(unpacked)
    await publish(unpacked, folder, fetched.server)
  } catch (error) {
    signal?.throwIfAborted()
    throw adviceError(`Fetching the redis-server package failed: ${sayingOf(error)}`, error)
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
  if (await isUsableServer(fetched.server)) return fetched
  throw adviceError("This system's packaged Redis is older than 7.0 or does not run here.")
}

/** Packages for one system must not be run on another one that shares the folder, e.g. in a container. */
async function systemName(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const field = (name: string) => new RegExp(`^${name}="?([\\w.-]+)`, 'm').exec(release)?.[1] ?? 'unknown'
  return `${field('ID')}-${field('VERSION_ID')}-${process.arch}`
}

async function downloadPackages(
  folder: string,
  log: (line: string) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const aptGet: AptGet = args =>
    run('apt-get', ['-qq', ...args], { cwd: folder, timeout: TIMEOUT_MS, signal })
  const lists = join(folder, 'lists')
  // Without its caches of lists, which apt would write outside the project.
  const settings = ['Cache::pkgcache=', 'Cache::srcpkgcache=', `State::lists=${lists}`]
  const ownLists = settings.flatMap(setting => ['-o', `Dir::${setting}`])
  const withOwnLists: AptGet = args => aptGet([...ownLists, ...args])
  try {
    await download(aptGet, log)
  } catch {
    signal?.throwIfAborted()
    // A bare machine has no package lists; old lists name files that the archive no longer has.
    log("The system's package lists are missing or outdated: fetching new ones for the project")
    await mkdir(join(lists, 'partial'), { recursive: true })
    await withOwnLists(['update'])
    await download(withOwnLists, log)
  }
}

type AptGet = (args: readonly string[]) => Promise<{ stdout: string }>

/** Downloads what apt would install: the server, its client and the libraries that this machine lacks. */
async function download(aptGet: AptGet, log: (line: string) => void): Promise<void> {
  // Reinstalled, because an installed server that is not on PATH is no use here.
  const simulate = ['install', '--simulate', '--reinstall', '--no-install-recommends', ...PACKAGES]
  const { stdout } = await aptGet(simulate)
  const libraries = [...stdout.matchAll(/^Inst (lib\S+)/gm)].map(([, name = '']) => name)
  const names = [...PACKAGES, ...libraries]
  const list = names.join(', ')
  log(`No redis-server 7.0+ on PATH: fetching the system's packages (${list}) into the project's cache`)
  await aptGet(['download', ...names])
}

/** Makes programs that run as they stand, so that the command shown to a person is short. */
async function writeWrappers(folder: string): Promise<void> {
  const root = join(folder, 'root')
  const libraries = (await readdir(root, { recursive: true }))
    .filter(file => /\.so(\.\d+)*$/.test(file))
    .map(file => `$here/root/${dirname(file)}`)
  for (const program of ['redis-server', 'redis-cli']) {
    const lines = [
      '#!/bin/sh',
      'here=$(cd "$(dirname "$0")" && pwd)',
      `LD_LIBRARY_PATH="${[...new Set(libraries)].join(':')}" exec "$here/root/usr/bin/${program}" "$@"`,
    ]
    await writeFile(join(folder, program), lines.map(line => `${line}\n`).join(''), { mode: 0o755 })
  }
}

async function publish(unpacked: string, folder: string, server: string): Promise<void> {
  try {
    await rename(unpacked, folder)
  } catch {
    // Another program was faster, or an unusable folder is in the way: the first is kept, the second
    // replaced.
    if (await isUsableServer(server)) return
    await rm(folder, { recursive: true, force: true })
    await rename(unpacked, folder)
  }
}

/** What apt says, without its command line. */
function sayingOf(error: unknown): string {
  const { stderr } = error as { stderr?: string }
  return (stderr || messageOf(error)).trim()
}

function adviceError(message: string, cause?: unknown): KimchiError {
  return new KimchiError('KIMCHI_ERR_REDIS_BINARY', `${message}\n${INSTALL_ADVICE}`, { cause })
}
