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

t.test('an error made on purpose at boot is one plain line and exit 1', async t => {
  t.strictSame(await run(t, 'app.mjs', 'boot-error').ended, {
    code: 1,
    signal: null,
    out: '',
    err: 'KIMCHI_ERR_REDIS: no answer from 127.0.0.1:1\n',
  })
})

t.test('an app that fails says why, is closed, and exits 1', async t => {
  t.strictSame(await run(t, 'app.mjs', 'failed').ended, {
    code: 1,
    signal: null,
    out: CLOSED_ONCE,
    err: 'KIMCHI_ERR_PRICES_KIND: Redis holds live prices\n',
  })
})

t.test('an uncaught error shows its stack, closes the app and exits 1', async t => {
  t.match(await run(t, 'app.mjs', 'uncaught').ended, {
    code: 1,
    out: CLOSED_ONCE,
    err: /^TypeError: undefined is not a function\n {4}at .*app\.mjs/,
  })
})

t.test('an app that fails while it is closed is still closed to the end, and exits 1', async t => {
  const { child, says, ended } = run(t, 'app.mjs', 'fails-while-closing')
  await says('up')
  child.kill('SIGTERM')
  t.strictSame(await ended, {
    code: 1,
    signal: null,
    out: CLOSED_ONCE,
    err: 'KIMCHI_ERR_REDIS: loop ended\n',
  })
})

t.test('a close that fails says why and exits 1', async t => {
  const { child, says, ended } = run(t, 'app.mjs', 'close-fails')
  await says('up')
  child.kill('SIGTERM')
  t.match(await ended, { code: 1, err: 'KIMCHI_ERR_REDIS: last minute not written\n' })
})

t.test('a close that hangs is given up after 4 s', async t => {
  const { ended } = run(t, 'app.mjs', 'failed-hang')
  t.match(await ended, { code: 1, out: 'up\nclosing 1\n', err: /not closed within 4000 ms, giving up\n$/ })
})

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
