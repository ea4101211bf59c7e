import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
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
  close(): Promise<void>
}

/**
 * Takes a data folder for one server. Redis itself takes no lock: two servers appending to one file ruin it.
 * A lock whose holder is dead is taken over.
 *
 * @param patienceMs how long a folder in use is waited for. @default 4 s
 * @throws KimchiError `KIMCHI_ERR_REDIS` naming the folder and the server that uses it
 */
export async function openDataDirLock(dir: string, patienceMs = PATIENCE_MS): Promise<DataDirLock> {
  const file = join(dir, 'server.lock')
  const claim = randomUUID()
  for (let waitedMs = 0; !(await take(file, claim)); waitedMs += 100) {
    if (waitedMs >= patienceMs) {
      const { pid = 0, port = 0 } = (await readHolder(file)) ?? {}
      throw new KimchiError(
        'KIMCHI_ERR_REDIS',
        `Data folder ${dir} is in use by another Redis server (process ${pid}, port ${port})`,
      )
    }
    await wait(100)
  }
  return {
    hand: (pid, port) => replace(file, claim, pid, port),
    close: () => rm(file, { force: true }),
  }
}

/** Whose lock it is; a claim is never made twice. */
interface Holder {
  readonly claim: string
  readonly pid: number
  /** 0 until the server runs. */
  readonly port: number
}

/**
 * Makes `file` ours when it is nobody's, or a dead holder's. Only one program at a time may replace a dead
 * holder's file: the one that has taken the file named after that holder's claim. A program that was slow
 * finds that the claim it saw is no longer in `file`, and leaves it.
 */
async function take(file: string, claim: string): Promise<boolean> {
  const draft = `${file}.${randomUUID()}`
  await writeFile(draft, `${claim} ${process.pid} 0`)
  try {
    await link(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft)
  }
  const holder = await readHolder(file)
  if (holder === undefined || (await isAlive(holder))) return false
  const guard = `${file}.${holder.claim}`
  if (!(await take(guard, randomUUID()))) return false
  try {
    if ((await readHolder(file))?.claim !== holder.claim) return false
    await replace(file, claim, process.pid, 0)
    return true
  } finally {
    await rm(guard, { force: true })
  }
}

async function replace(file: string, claim: string, pid: number, port: number): Promise<void> {
  const draft = `${file}.${randomUUID()}`
  await writeFile(draft, `${claim} ${pid} ${port}`)
  await rename(draft, file)
}

/** Undefined when the file has just gone. What is no lock of ours belongs to nobody who lives. */
async function readHolder(file: string): Promise<Holder | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const [claim = '', pid = '', port = ''] = text.split(' ')
  return { claim: /^[\w-]+$/.test(claim) ? claim : 'unknown', pid: Number(pid), port: Number(port) }
}

/** Process ids are used again; a server is known by its title, `redis-server 127.0.0.1:<port>`. */
async function isAlive({ pid, port }: Holder): Promise<boolean> {
  if (!Number.isInteger(pid) || pid <= 0) return false
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
