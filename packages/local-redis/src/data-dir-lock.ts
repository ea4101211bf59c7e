/// <reference path="./fs-native-extensions.d.ts" />
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { KimchiError, messageOf } from '@kimchi/core'

/** How long to wait for the server of a killed program, which ends within a moment. */
const PATIENCE_MS = 4_000

type TryLock = (fd: number) => boolean

/**
 * Locks a data folder for one server, and returns the locked file. Redis itself locks nothing: two servers
 * appending to one file ruin it. The kernel holds the lock and frees it when the last process that has the file
 * open ends, so a server that inherits its descriptor holds it for as long as it lives. What the file says is
 * for people.
 *
 * @param patienceMs how long to wait for a folder in use. @default 4 s
 * @param tryLock locks a file, or gives false while another program holds it. @default the system's
 * @throws KimchiError `KIMCHI_ERR_REDIS` naming the folder and the server that uses it; `cause.code` is `EBUSY`
 */
export async function openDataDirLock(
  dir: string,
  patienceMs = PATIENCE_MS,
  tryLock?: TryLock,
): Promise<FileHandle> {
  const path = join(dir, 'server.lock')
  const file = await open(path, 'a+')
  for (let waitedMs = 0; !(await isLocked(file, path, tryLock)); waitedMs += 100) {
    if (waitedMs >= patienceMs) {
      const holder = (await file.readFile('utf8')).trim()
      await file.close()
      const message = `Data folder ${dir} is in use by another Redis server (${holder || 'not yet running'})`
      const cause = Object.assign(new Error('folder in use'), { code: 'EBUSY' })
      throw new KimchiError('KIMCHI_ERR_REDIS', message, { cause })
    }
    await wait(100)
  }
  await file.truncate()
  return file
}

/** @throws Error naming the file, where the system cannot lock it: network file systems may have no locks */
async function isLocked(file: FileHandle, path: string, tryLock: TryLock | undefined): Promise<boolean> {
  try {
    // Loaded here, because only a server of our own needs it: the package holds no binary for every system.
    const lock = tryLock ?? (await import('fs-native-extensions')).tryLock
    return lock(file.fd)
  } catch (thrown) {
    await file.close()
    throw Object.assign(new Error(`no lock on ${path}: ${messageOf(thrown)}`), { syscall: 'fcntl' })
  }
}
