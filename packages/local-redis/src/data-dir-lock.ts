/// <reference path="./fs-native-extensions.d.ts" />
import { execFile } from 'node:child_process'
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { KimchiError } from '@kimchi/core'

const run = promisify(execFile)

/** How long to wait for the server of a killed program, which ends within a moment. */
const PATIENCE_MS = 4_000

/**
 * Locks a data folder for one server, and returns the locked file. Redis itself locks nothing: two servers
 * appending to one file ruin it. The kernel holds the lock and frees it when the last process that has the file
 * open ends, so a server that inherits its descriptor holds it for as long as it lives. The text of the file
 * decides only when it names a living redis-server of this folder that was started without the lock.
 *
 * @param patienceMs how long to wait for a folder in use. @default 4 s
 * @throws KimchiError `KIMCHI_ERR_REDIS` naming the folder and the server that uses it
 */
export async function openDataDirLock(dir: string, patienceMs = PATIENCE_MS): Promise<FileHandle> {
  // Loaded here, because only a server of our own needs it: the package holds no binary for every system.
  const { tryLock } = await import('fs-native-extensions')
  const file = await open(join(dir, 'server.lock'), 'a+')
  const isOurs = async () => tryLock(file.fd) && !(await namesLivingServer(file, dir))
  for (let waitedMs = 0; !(await isOurs()); waitedMs += 100) {
    if (waitedMs >= patienceMs) {
      const holder = (await noteIn(file)).trim()
      await file.close()
      const message = `Data folder ${dir} is in use by another Redis server (${holder || 'not yet running'})`
      throw new KimchiError('KIMCHI_ERR_REDIS', message)
    }
    await wait(100)
  }
  await file.truncate()
  return file
}

/** Writes the server into the locked file, for the error of those that are refused. */
export async function noteServer(lock: FileHandle, pid: number, port: number): Promise<void> {
  await lock.truncate()
  await lock.write(`process ${pid}, port ${port}\n`)
}

async function noteIn(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(200), 0, 200, 0)
  return buffer.toString('utf8', 0, bytesRead)
}

async function namesLivingServer(file: FileHandle, dir: string): Promise<boolean> {
  const numbers = (await noteIn(file)).match(/\b\d+\b/g) ?? []
  const living = await Promise.all(numbers.map(pid => worksIn(dir, pid)))
  return living.includes(true)
}

/** Process ids are used again: the folder must be the working directory of the process, as it is of a server. */
async function worksIn(dir: string, pid: string): Promise<boolean> {
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(async () => {
    const lsof = run('lsof', ['-a', '-p', pid, '-d', 'cwd', '-Fn'])
    const { stdout } = await lsof.catch(() => ({ stdout: '' }))
    return /^n(.+)$/m.exec(stdout)?.[1]
  })
  return cwd === (await realpath(dir))
}
