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

function doctor(bases: Readonly<Record<string, string>> = NOWHERE) {
  return new Promise<{ code: unknown; lines: string[]; errors: string }>(resolve =>
    execFile(process.execPath, [MAIN], { env: { ...process.env, ...bases } }, (error, output, errors) =>
      resolve({ code: error?.code ?? 0, lines: output.trim().split('\n'), errors }),
    ),
  )
}

t.test('exchanges out of reach: a line for each check, a verdict last, exit code 1', async t => {
  const { code, lines } = await doctor()
  t.equal(code, 1)
  t.ok(lines.length > 10)
  t.match(lines[0], /^FAIL {4}bases: /)
  t.equal(lines.at(-1), '1 failed, 9 not known')
})

t.test('a machine without a network gets one sentence, and exit code 1', async t => {
  const unknownNames = Object.fromEntries(
    Object.entries(NOWHERE).map(([name, base]) => [name, base.replace('127.0.0.1:1', 'api.upbit.invalid')]),
  )
  const { code, lines, errors } = await doctor(unknownNames)
  t.equal(code, 1)
  t.strictSame(lines, [''])
  t.equal(errors, "This machine has no internet, or its DNS doesn't know api.upbit.invalid.\n")
})
