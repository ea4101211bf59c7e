import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
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
    await mkdir(join(temporary, 'root'), { recursive: true })
    await unpackServer(temporary, log, signal)
    await writeWrappers(temporary)
    await publish(temporary, folder, fetched.server)
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof KimchiError) throw error
    throw adviceError(`Fetching the redis-server package failed: ${messageOf(error).trim()}`, error)
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

async function unpackServer(
  folder: string,
  log: (line: string) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const aptGet = (args: readonly string[]) =>
    run('apt-get', ['-qq', ...args], { cwd: folder, timeout: TIMEOUT_MS, signal })
  const download = async () => {
    const names = await neededPackages(aptGet)
    const list = names.join(', ')
    log(`No redis-server 7.0+ on PATH: fetching the system's packages (${list}) into the project's cache`)
    await aptGet(['download', ...names])
  }
  try {
    await download()
  } catch {
    signal?.throwIfAborted()
    // A bare machine has no package lists; old lists name files that the archive no longer has.
    await updateLists(aptGet, log)
    await download()
  }
  for (const file of await readdir(folder)) {
    if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', join(folder, file), join(folder, 'root')])
  }
}

type Run = (args: readonly string[]) => Promise<{ stdout: string }>

/** What apt would install: the server, its client and the libraries that this machine lacks. */
async function neededPackages(aptGet: Run): Promise<string[]> {
  // Reinstalled, because an installed server that is not on PATH is no use here.
  const simulate = ['install', '--simulate', '--reinstall', '--no-install-recommends', ...PACKAGES]
  const { stdout } = await aptGet(simulate)
  const libraries = [...stdout.matchAll(/^Inst (lib\S+)/gm)].map(([, name = '']) => name)
  return [...PACKAGES, ...libraries]
}

async function updateLists(aptGet: Run, log: (line: string) => void): Promise<void> {
  if (process.getuid?.() !== 0) {
    const message = 'The package lists of this system lack redis-server or are outdated.'
    throw adviceError(`${message} Run: sudo apt-get update`)
  }
  log('Refreshing the package lists (apt-get update)')
  for (let attempt = 1; ; attempt++) {
    try {
      await aptGet(['update'])
      return
    } catch (error) {
      // Another program may be refreshing the lists at this very moment; its result serves us as well.
      if (attempt === 10 || !/lock/i.test(messageOf(error))) throw error
      await wait(2_000)
    }
  }
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

async function publish(temporary: string, folder: string, server: string): Promise<void> {
  try {
    await rename(temporary, folder)
  } catch {
    // Another program was faster, or an unusable folder is in the way: the first is kept, the second
    // replaced.
    if (await isUsableServer(server)) return
    await rm(folder, { recursive: true, force: true })
    await rename(temporary, folder)
  }
}

function adviceError(message: string, cause?: unknown): KimchiError {
  return new KimchiError('KIMCHI_ERR_REDIS_BINARY', `${message}\n${INSTALL_ADVICE}`, { cause })
}
