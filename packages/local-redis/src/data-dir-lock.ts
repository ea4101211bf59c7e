import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { KimchiError } from '@kimchi/core'

const run = promisify(execFile)

/**
 * A server whose starter was killed ends by itself within a moment; so long its data folder is waited for.
 */
const PATIENCE_MS = 4_000

/** The right to run a server on a data folder. */
export interface DataDirLock {
  /** Names the server, once it runs, so that others can tell whether it still lives. */
  hand(pid: number, port: number): Promise<void>
  /** Frees the folder. */
  release(): Promise<void>
}

/**
 * Takes a data folder for one server. Redis itself takes no lock: two servers appending to one file ruin it.
 * A lock whose holder is dead is taken over.
 *
 * @throws KimchiError `KIMCHI_ERR_REDIS` naming the folder and the server that uses it
 */
export async function lockDataDir(dir: string): Promise<DataDirLock> {
  const file = join(dir, 'server.lock')
  for (let waitedMs = 0; ; waitedMs += 100) {
    if (await tryCreate(file, `${process.pid} 0`)) break
    const [pid = 0, port = 0] = (await readFile(file, 'utf8').catch(() => '')).split(' ').map(Number)
    if (!(await isAlive(pid, port))) {
      await rm(file, { force: true })
    } else if (waitedMs >= PATIENCE_MS) {
      throw new KimchiError(
        'KIMCHI_ERR_REDIS',
        `Data folder ${dir} is in use by another Redis server (process ${pid}, port ${port})`,
      )
    } else {
      await wait(100)
    }
  }
  return {
    hand: (pid, port) => writeFile(file, `${pid} ${port}`),
    release: () => rm(file, { force: true }),
  }
}

async function tryCreate(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Process ids are used again; a server is known by its title, `redis-server 127.0.0.1:<port>`. */
async function isAlive(pid: number, port: number): Promise<boolean> {
  if (pid <= 0 || !Number.isInteger(pid)) return false
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  return port === 0 || (await titleOf(pid)).includes(`:${port}`)
}

async function titleOf(pid: number): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    const listed = await run('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }))
    return listed.stdout
  }
}
