import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openDataDirLock } from '../src/data-dir-lock.ts'

// docs/faults.md, 54

const WORKER = fileURLToPath(new URL('fixtures/lock-rounds.mjs', import.meta.url))

/** The id of a process that has ended. */
const DEAD_PID = spawnSync(process.execPath, ['-e', '']).pid

/**
 * What a dead starter may leave: its lock, one of an earlier version, or a lock with the guard of a dead
 * successor.
 */
const REMAINS: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'server.lock': `7e57 ${DEAD_PID} 0` },
  { 'server.lock': `${DEAD_PID} 6379` },
  { 'server.lock': `7e57 ${DEAD_PID} 0`, 'server.lock.7e57': `9a4d ${DEAD_PID} 0` },
  { 'server.lock': '' },
]

t.test('of four starts on one data folder exactly one holds it, stale lock or not, 50 times', async t => {
  const workers = Array.from({ length: 4 }, () => fork(WORKER, { execArgv: [] }))
  t.teardown(() => {
    for (const worker of workers) worker.kill('SIGKILL')
  })
  const tell = async (worker: ChildProcess, message: object) => {
    const answer = once(worker, 'message')
    worker.send(message)
    return String((await answer)[0])
  }
  const dir = t.testdir({})
  for (let round = 0; round < 50; round++) {
    for (const [name, text] of Object.entries(REMAINS[round % REMAINS.length] ?? {})) {
      await writeFile(join(dir, name), text)
    }
    const answers = await Promise.all(workers.map(worker => tell(worker, { dir })))
    // Whoever met a guard under way was refused and would try again; nobody may have got in beside the
    // holder.
    const holders = answers.filter(answer => answer === 'holder').length
    t.equal(holders, 1, `round ${round}: ${answers.join(' ')}`)
    await Promise.all(workers.map(worker => tell(worker, { release: true })))
    t.strictSame(await readdir(dir), [])
  }
})

t.test('a lock is free again when it is closed, and says who has it until then', async t => {
  const dir = t.testdir({})
  const lock = await openDataDirLock(dir, 0)
  await lock.hand(process.pid, 0)
  await t.rejects(openDataDirLock(dir, 0), { message: new RegExp(`\\(process ${process.pid}, port 0\\)`) })
  await lock.close()
  await (await openDataDirLock(dir, 0)).close()
})
