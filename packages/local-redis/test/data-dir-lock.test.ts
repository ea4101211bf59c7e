import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openDataDirLock } from '../src/data-dir-lock.ts'

const WORKER = fileURLToPath(new URL('fixtures/lock-rounds.mjs', import.meta.url))

/** The id of a process that has ended, and of one that lives and is no server. */
const DEAD_PID = spawnSync(process.execPath, ['-e', '']).pid
const LIVING_PID = process.pid

/** What an earlier version or a stranger may have left; the kernel, not the text, says who holds a folder. */
const REMAINS: readonly string[] = [
  '',
  `7e57 ${DEAD_PID} 0`,
  `${DEAD_PID} ${LIVING_PID}`,
  `7e57 ${LIVING_PID} 0`,
  `process ${LIVING_PID}, port ${LIVING_PID}`,
]

// docs/faults.md, 54
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
    if (round > 0) await writeFile(join(dir, 'server.lock'), REMAINS[round % REMAINS.length] ?? '')
    const answers = await Promise.all(workers.map(worker => tell(worker, { dir })))
    const holders = answers.filter(answer => answer === 'holder').length
    t.equal(holders, 1, `round ${round}: ${answers.join(' ')}`)
    await Promise.all(workers.map(worker => tell(worker, { release: true })))
  }
})

t.test('a server that inherited the lock holds it until it ends, also after its starter let go', async t => {
  const dir = t.testdir({})
  const lock = await openDataDirLock(dir, 0)
  const server = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore', lock.fd],
  })
  await once(server, 'spawn')
  await lock.close()
  await t.rejects(openDataDirLock(dir, 0), { code: 'KIMCHI_ERR_REDIS' })
  server.kill('SIGKILL')
  await once(server, 'exit')
  await (await openDataDirLock(dir, 0)).close()
})

t.test('where the file system has no locks, the error names the file and what the system says', async t => {
  const dir = t.testdir({})
  const noLocks = () => {
    throw new Error('Unknown system error -37')
  }
  await t.rejects(openDataDirLock(dir, 0, noLocks), {
    message: `no lock on ${join(dir, 'server.lock')}: Unknown system error -37`,
  })
  await (await openDataDirLock(dir, 0)).close()
})
