import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url))

function startMain(t: Test, env: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, [MAIN], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

const urlOf = async (child: ChildProcess): Promise<string> => {
  const [lines] = await once(child.stdout as NodeJS.ReadableStream, 'data')
  return /http:\S+/.exec(String(lines))?.[0] ?? ''
}

t.test('runs alone, prints its URLs, and ends on SIGTERM', async t => {
  const child = spawn(process.execPath, [MAIN], { env: { ...process.env, PORT: '0' } })
  t.teardown(() => child.kill('SIGKILL'))
  const [lines] = await once(child.stdout, 'data')
  t.match(String(lines), /^SIMULATED PRICES of Upbit and Binance at http:\/\/127\.0\.0\.1:\d+\n/)
  child.kill('SIGTERM')
  t.strictSame(await once(child, 'exit'), [0, null])
})

t.test('ends when its parent is gone', async t => {
  const child = startMain(t, { PORT: '0' })
  await urlOf(child)
  child.disconnect()
  t.strictSame(await once(child, 'exit'), [0, null])
})

t.test('a port that is in use or wrong is an error of one line', async t => {
  const first = startMain(t, { PORT: '0' })
  const { port } = new URL(await urlOf(first))
  for (const [PORT, message] of [
    [port, /^simulator: .*EADDRINUSE/],
    ['http', /^simulator: PORT must be a whole number from 0 to 65535; got "http"\n$/],
  ] as const) {
    const second = startMain(t, { PORT })
    const exit = once(second, 'exit')
    const [line] = await once(second.stderr as NodeJS.ReadableStream, 'data')
    t.match(String(line), message)
    t.strictSame(await exit, [1, null])
  }
})
