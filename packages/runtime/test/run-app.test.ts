import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'

/** Runs a scenario of a fixture. */
function run(t: Test, file: string, scenario: string) {
  const path = fileURLToPath(new URL(`fixtures/${file}`, import.meta.url))
  const child = spawn(process.execPath, [path, scenario], { env: { PATH: process.env.PATH } })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', printed => {
    out += printed
  })
  const printed = text(child.stderr)
  /** Resolves when the process has ended, and with it whoever has inherited its output. */
  const ended = once(child, 'close').then(async ([code, signal]) => ({
    code,
    signal,
    out,
    err: await printed,
  }))
  t.teardown(async () => {
    child.kill('SIGKILL')
    const grandchild = /^pid (\d+)$/m.exec(out)?.[1]
    if (grandchild && !child.stdout.closed) process.kill(Number(grandchild), 'SIGKILL')
  })
  /** Resolves once standard output has the line; rejects when the output ends without it. */
  const says = async (line: string): Promise<void> => {
    const over = ended.then(all => {
      if (!out.includes(line)) throw new Error(`ended without saying ${line}: ${all.out}${all.err}`)
    })
    while (!out.includes(line)) await Promise.race([once(child.stdout, 'data'), over])
  }
  return { child, says, ended }
}

const CLOSED_ONCE = 'up\nclosing 1\nclosed\n'

for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
  t.test(`${signal} closes the app and exits 0`, async t => {
    const { child, says, ended } = run(t, 'app.mjs', 'plain')
    await says('up')
    child.kill(signal)
    t.strictSame(await ended, { code: 0, signal: null, out: CLOSED_ONCE, err: '' })
  })
}

t.test('a second signal, as when Ctrl-C is passed on by a parent, does not cut the close short', async t => {
  const { child, says, ended } = run(t, 'app.mjs', 'plain')
  await says('up')
  child.kill('SIGINT')
  await says('closing')
  child.kill('SIGTERM')
  child.kill('SIGINT')
  t.strictSame(await ended, { code: 0, signal: null, out: CLOSED_ONCE, err: '' })
})

const CLOSING = 'up\nclosing 1\n'
const FAILURES = [
  [
    'boot-error',
    'an error made on purpose at boot is one plain line',
    '',
    'KIMCHI_ERR_REDIS: no answer from 127.0.0.1:1\n',
  ],
  [
    'failed',
    'an app that fails says why, and is closed',
    CLOSED_ONCE,
    'KIMCHI_ERR_PRICES_KIND: Redis holds live prices\n',
  ],
  [
    'uncaught',
    'an uncaught error shows its stack and closes the app',
    CLOSED_ONCE,
    /^TypeError: undefined is not a function\n {4}at .*app\.mjs/,
  ],
  [
    'fails-while-closing',
    'an app that fails while it is closed is still closed to the end',
    CLOSED_ONCE,
    'KIMCHI_ERR_REDIS: loop ended\n',
  ],
  ['close-fails', 'a close that fails says why', CLOSING, 'KIMCHI_ERR_REDIS: last minute not written\n'],
  [
    'failed-hang',
    'a close that hangs is given up after 4 s',
    CLOSING,
    /not closed within 4000 ms, giving up\n$/,
  ],
] as const
for (const [scenario, title, out, err] of FAILURES) {
  t.test(`${title}; exit 1`, async t => {
    const ended = await run(t, 'app.mjs', scenario).ended
    t.match(ended, { code: 1, signal: null, err })
    t.equal(ended.out, out)
    if (typeof err === 'string') t.equal(ended.err, err)
  })
}

for (const [scenario, when, text] of [
  ['plain', 'is killed', 'up'],
  ['slow-start', 'was killed while the app was starting', 'starting'],
] as const) {
  t.test(`closes when the parent that holds its IPC channel ${when}`, async t => {
    const { child, says, ended } = run(t, 'parent.mjs', scenario)
    await says(text)
    child.kill('SIGKILL')
    // The output is inherited: it ends when the app has ended too.
    t.match(await ended, { signal: 'SIGKILL', out: /closing 1\n(up\n)?closed\n$/, err: '' })
  })
}

for (const [scenario, told] of [
  ['boot-error', []],
  ['uncaught', [{ started: true }]],
  ['failed', [{ started: true }, { final: true }]],
] as const) {
  t.test(`tells a parent whether another start may help (${scenario})`, async t => {
    const child = fork(fileURLToPath(new URL('fixtures/app.mjs', import.meta.url)), [scenario], {
      execArgv: [],
      silent: true,
    })
    t.teardown(() => child.kill('SIGKILL'))
    const messages: unknown[] = []
    child.on('message', message => messages.push(message))
    const [code] = await once(child, 'close')
    t.equal(code, 1)
    t.strictSame(messages, told)
  })
}
