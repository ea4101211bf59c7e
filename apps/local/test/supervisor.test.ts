import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { Supervisor } from '../src/supervisor.ts'

const CHILD = fileURLToPath(new URL('fixtures/child.mjs', import.meta.url))

/** Supervises one child that follows a script; waits between restarts are shortened. */
function supervise(t: Test, script: string, calmMs = 0) {
  const dir = t.testdir({})
  const attemptsFile = join(dir, 'attempts')
  const lines: string[] = []
  const waits: number[] = []
  let onFailure: () => void = () => {}
  const failed = new Promise<void>(resolve => {
    onFailure = resolve
  })
  const supervisor = new Supervisor({
    logDir: join(dir, 'logs'),
    say: line => lines.push(line),
    onRecord: () => {},
    onFailure: () => onFailure(),
    wait: ms => {
      // Only the wait before a kill keeps its length.
      if (ms !== 4_300) waits.push(ms)
      return delay(ms === 4_300 ? ms : 1, undefined, { ref: false })
    },
  })
  t.teardown(() => supervisor.close())
  const env = { SCRIPT: script, ATTEMPTS_FILE: attemptsFile }
  supervisor.start({ name: 'app', script: CHILD, env, calmMs })
  const attempts = async (count: number) => {
    while (read(attemptsFile).length < count) await delay(10)
  }
  return { dir, lines, waits, failed, attempts, supervisor, attemptsFile }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

t.test('an app that fails before it listens ends the whole stack', async t => {
  const { failed, lines, attemptsFile } = supervise(t, 'fail to start')
  await failed
  t.match(lines, ['app could not go on (exit 1).'])
  t.equal(read(attemptsFile).length, 1, 'and is not started again')
})

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
  const { failed, attemptsFile } = supervise(t, 'fail finally after the start')
  await failed
  t.equal(read(attemptsFile).length, 1)
})

t.test(
  'while everything starts, an app’s warnings go to its log alone, its errors to the person too',
  async t => {
    const { failed, lines, dir } = supervise(t, 'warn and fail', 60_000)
    await failed
    t.strictSame(lines, ['app: it broke', 'app could not go on (exit 1).'])
    t.match(read(join(dir, 'logs/app.log')), 'Redis is not there yet')
  },
)

t.test('without a calm time, an app’s warnings are shown at once', async t => {
  const { failed, lines } = supervise(t, 'warn and fail')
  await failed
  t.strictSame(lines.slice(0, 2), ['app: Redis is not there yet', 'app: it broke'])
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
