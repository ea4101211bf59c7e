import { execFile } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { KimchiError, messageOf } from '@kimchi/core'
import { findProgram, INSTALL_ADVICE } from './programs.ts'

const run = promisify(execFile)

/** A package's record as the archive has it (never translated), or '' when it is not offered. */
export async function packageRecord(name: string, path: string): Promise<string> {
  const aptCache = (await findProgram('apt-cache', path)) ?? 'apt-cache'
  try {
    return (await run(aptCache, ['show', '--no-all-versions', name])).stdout
  } catch {
    return ''
  }
}

/**
 * Refreshes the package lists.
 *
 * @throws KimchiError `KIMCHI_ERR_REDIS_BINARY` with the command to run when this needs another user
 */
export async function updateLists(path: string, log: (line: string) => void): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new KimchiError(
      'KIMCHI_ERR_REDIS_BINARY',
      `The package lists of this system lack redis-server or are outdated. Run: sudo apt-get update\n${INSTALL_ADVICE}`,
    )
  }
  log('Refreshing the package lists (apt-get update)')
  const aptGet = (await findProgram('apt-get', path)) ?? 'apt-get'
  for (let attempt = 1; ; attempt++) {
    try {
      await run(aptGet, ['update', '-qq'], { timeout: 120_000 })
      return
    } catch (error) {
      // Another program may be refreshing the lists at this very moment; its result serves us as well.
      if (attempt === 10 || !/lock/i.test(messageOf(error))) throw error
      await wait(2_000)
    }
  }
}

/** Fetches packages and unpacks them into `<folder>/root`, installing nothing. */
export async function unpackPackages(
  names: readonly string[],
  folder: string,
  path: string,
  log: (line: string) => void,
): Promise<void> {
  const aptGet = (await findProgram('apt-get', path)) ?? 'apt-get'
  const dpkgDeb = (await findProgram('dpkg-deb', path)) ?? 'dpkg-deb'
  const download = () => run(aptGet, ['download', '-qq', ...names], { cwd: folder, timeout: 120_000 })
  try {
    await download()
  } catch {
    // Lists older than the archive name files that are gone.
    await updateLists(path, log)
    await download()
  }
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.deb')) continue
    await run(dpkgDeb, ['-x', join(folder, file), join(folder, 'root')])
    await rm(join(folder, file))
  }
}

/** Library packages that the given packages depend on and that are not on this machine. */
export async function uninstalledLibraries(names: readonly string[], path: string): Promise<string[]> {
  const wanted = new Set<string>()
  for (const name of names) {
    const depends = /^Depends: (.*)$/m.exec(await packageRecord(name, path))?.[1] ?? ''
    for (const alternatives of depends.split(',')) {
      const library = /^\s*(lib[a-z0-9+.-]+)/.exec(alternatives)?.[1]
      if (library !== undefined && !(await isInstalled(library, path))) wanted.add(library)
    }
  }
  return [...wanted]
}

async function isInstalled(name: string, path: string): Promise<boolean> {
  const dpkgQuery = (await findProgram('dpkg-query', path)) ?? 'dpkg-query'
  try {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query's own format language
    const { stdout } = await run(dpkgQuery, ['-W', '-f=${db:Status-Status} ', name])
    return stdout.includes('installed ') && !stdout.includes('not-installed')
  } catch {
    return false
  }
}
