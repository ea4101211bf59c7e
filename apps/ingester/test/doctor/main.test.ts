import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const MAIN = fileURLToPath(new URL('../../dist/doctor/main.js', import.meta.url))

/** No server listens there. */
const NOWHERE = {
  UPBIT_WS_URL: 'ws://127.0.0.1:1',
  UPBIT_REST_URL: 'http://127.0.0.1:1',
  BINANCE_WS_URL: 'ws://127.0.0.1:1',
  BINANCE_REST_URL: 'http://127.0.0.1:1',
}

function doctor(...args: string[]): Promise<{ code: unknown; lines: string[] }> {
  return new Promise(resolve =>
    execFile(process.execPath, [MAIN, ...args], { env: { ...process.env, ...NOWHERE } }, (error, output) =>
      resolve({ code: error?.code ?? 0, lines: output.trim().split('\n') }),
    ),
  )
}

t.test('--help says what it asks, and asks nothing', async t => {
  const { code, lines } = await doctor('--help')
  t.equal(code, 0)
  t.match(lines[0], /^npm run doctor/)
})

t.test('exchanges out of reach: a line for each check, a verdict last, exit code 1', async t => {
  const { code, lines } = await doctor()
  t.equal(code, 1)
  t.ok(lines.length > 10)
  t.match(lines[0], /^FAIL {4}bases: /)
  t.equal(lines.at(-1), '1 failed, 9 not known')
})
