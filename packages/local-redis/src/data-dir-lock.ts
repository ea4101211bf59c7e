/// <reference path="./fs-native-extensions.d.ts" />
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { KimchiError } from '@kimchi/core'

/** How long to wait for the server of a killed program, which ends within a moment. */
const PATIENCE_MS = 4_000

/**
 * Locks a data folder for one server, and returns the locked file. Redis itself locks nothing: two servers
 * appending to one file ruin it. The kernel holds the lock and frees it when the last process that has the file
 * open ends, so a server that inherits its descriptor holds it for as long as it lives. What the file says is
 * for people.
 *
 * @param patienceMs how long to wait for a folder in use. @default 4 s
 * @throws KimchiError `KIMCHI_ERR_REDIS` naming the folder and the server that uses it; `cause.code` is `EBUSY`
 */
export async function openDataDirLock(dir: string, patienceMs = PATIENCE_MS): Promise<FileHandle> {
  // Loaded here, because only a server of our own needs it: the package holds no binary for every system.
  const { tryLock } = await import('fs-native-extensions')
  const file = await open(join(dir, 'server.lock'), 'a+')
  for (let waitedMs = 0; !tryLock(file.fd); waitedMs += 100) {
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
