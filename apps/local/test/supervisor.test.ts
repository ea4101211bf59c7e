import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemClock } from '@kimchi/runtime'
import t, { type Test } from 'tap'
import { startApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { startLocal } from '../src/start.ts'
import { Supervisor } from '../src/supervisor.ts'

const CHILD = fileURLToPath(new URL('fixtures/child.mjs', import.meta.url))

/** What a stack gets, with what it says, and shortened waits. */
function openContext(t: Test) {
  const dir = t.testdir({ logs: {} })
  const lines: string[] = []
  const waits: number[] = []
  const say = (line: string) => lines.push(line)
  const wait = (ms: number) => {
    waits.push(ms)
    return delay(1)
  }
  const context = { say, clock: { ...systemClock, wait }, signal: new AbortController().signal }
  const supervisor = new Supervisor(context)
  t.teardown(() => supervisor.close())
  const attemptsFile = join(dir, 'attempts')
  /** Supervises a child that follows a script. */
  const start = (script: string) => {
    const env = { SCRIPT: script, ATTEMPTS_FILE: attemptsFile }
    const app = { name: 'app', script: CHILD, env, logDir: join(dir, 'logs') }
    return supervisor.start('app', signal => startApp(app, say, signal))
  }
  return { dir, lines, waits, context, supervisor, attemptsFile, start }
}

/** Supervises one child that follows a script. */
function supervise(t: Test, script: string) {
  const opened = openContext(t)
  const started = opened.start(script)
  started.catch(() => {})
  const attempts = async (count: number) => {
    while (read(opened.attemptsFile).length < count) await delay(10)
  }
  return { ...opened, started, attempts }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

t.test('an app that fails before it has started is an error', async t => {
  const { started, attemptsFile } = supervise(t, 'fail to start')
  await t.rejects(started, { message: 'app could not be started (exit 1); the reason is above.' })
  t.equal(read(attemptsFile).length, 1, 'and is not started again')
})

// docs/faults.md, 53
t.test('an uncaught error long after the start has the app started again', async t => {
  const { attempts, lines } = supervise(t, 'crash once, long after the start')
  await attempts(2)
  t.ok(lines.includes('app ended unexpectedly (exit 1); starting it again.'))
  t.ok(
    lines.some(line => line.includes('out of the blue')),
    'and a person sees the error',
  )
})

t.test('a failed restart is repeated, later each time', async t => {
  const { attempts, waits } = supervise(t, 'fail again at the second start')
  await attempts(3)
  t.strictSame(waits, [1_000, 2_000])
})

t.test('an app that reports a final failure ends the whole stack', async t => {
  const { supervisor, started, attemptsFile } = supervise(t, 'fail finally after the start')
  await started
  if (!supervisor.ending.aborted) await once(supervisor.ending, 'abort')
  t.equal(read(attemptsFile).length, 1)
})

t.test('a person sees what an app complains about, and its log has it too', async t => {
  const { started, lines, dir } = supervise(t, 'warn and fail')
  await t.rejects(started)
  t.strictSame(lines, ['app: Redis is not there yet', 'app: it broke'])
  // The file is written after the person has been told.
  while (!read(join(dir, 'logs/app.log')).includes('Redis is not there yet')) await delay(10)
})

t.test('what is still starting when the stack ends is ended, too', async t => {
  const { supervisor, started, attempts } = supervise(t, 'never start')
  await attempts(1)
  await supervisor.close()
  await t.rejects(started, { code: 'KIMCHI_ERR_CONFIG' })
})

t.test("an app's logs are bounded", async t => {
  const { dir, supervisor } = supervise(t, 'print a lot')
  const logs = join(dir, 'logs')
  const size = () => readdirSync(logs).reduce((sum, file) => sum + statSync(join(logs, file)).size, 0)
  const full = () => readdirSync(logs).length >= 4
  while (!full()) await delay(20)
  await supervisor.close()
  t.ok(size() <= 21_000_000, `${size()} bytes are kept of 30,000,000`)
})

t.test('a data folder that can’t be used is named with its variable, and what would do', async t => {
  const { context, dir } = openContext(t)
  const file = join(dir, 'file')
  writeFileSync(file, '')
  await t.rejects(startLocal(readConfig('demo', { DATA_DIR: file }), context), {
    code: 'KIMCHI_ERR_CONFIG',
    message: new RegExp(`^DATA_DIR must be a folder of a local disk, .* got: ${file} \\(ENOTDIR`),
  })
})
