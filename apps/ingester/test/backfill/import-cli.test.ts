import { Writable } from 'node:stream'
import { DAY_MINUTES, dateOf, minuteOf } from '@kimchi/core'
import { systemClock } from '@kimchi/runtime'
import { startSimulator } from '@kimchi/simulator'
import { openRedis, SampleWriter } from '@kimchi/store'
import { eventually, startProgram, startRedis } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { runImport } from '../../src/backfill/import-cli.ts'
import { BTC, ETH, FEW_TRADES, silent } from '../support/backfill-bench.ts'

/** The built program, as `npm run backfill` starts it. */
const PROGRAM = new URL('../../dist/backfill/import-main.js', import.meta.url).pathname

const simulator = await startSimulator({ coins: FEW_TRADES, limits: false, pumpMs: 0 })
t.teardown(() => simulator.close())
const redis = await startRedis(t)
const raw = redis.client()

const connection = openRedis(redis.url, { name: 'test' })
t.teardown(() => connection.close())
await connection.untilReady(60_000)

/** A test that finds a Redis in which an ingester has published two coins, and keeps samples of a day. */
const test = (title: string, run: (t: Test) => Promise<void>) =>
  t.test(title, async t => {
    await raw.flushall()
    await new SampleWriter({ redis: connection, prices: 'simulated', retentionDays: 1, log: silent }).track([
      BTC,
      ETH,
    ])
    await run(t)
  })

/** The environment of an import that finds the simulator and this Redis. */
const environment = (env: Readonly<Record<string, string>>) => ({
  PRICES: 'simulated',
  SAMPLE_RETENTION_DAYS: '1',
  UPBIT_REQUESTS_PER_SECOND: '10',
  REDIS_URL: redis.url,
  UPBIT_REST_URL: simulator.url,
  BINANCE_REST_URL: simulator.url,
  ...env,
})

/** An import as a process, which takes long to start. */
const startProcess = (days: string, env: Readonly<Record<string, string>>) =>
  startProgram(t, [PROGRAM, '--days', days], environment(env))

/** An import in this process: its exit code, and all that it prints. */
async function start(args: readonly string[], env: Readonly<Record<string, string>>) {
  let printed = ''
  const terminal = new Writable({
    write(text, _encoding, done) {
      printed += text
      done()
    },
  })
  const code = await runImport({
    args,
    env: environment(env),
    version: '1.2.3',
    stdout: terminal,
    stderr: terminal,
    clock: systemClock,
    random: () => 0.5,
    signal: new AbortController().signal,
  })
  return { code, lines: printed.trimEnd().split('\n') }
}

/** Imports the day before yesterday, the first one of which no samples are kept, to the end. */
async function run(env: Readonly<Record<string, string>>) {
  const { code, lines } = await start(['--days', '2'], env)
  t.equal(code, 0)
  return lines
}

const imported = async () => {
  const keys = await raw.keys('{kp}:daily:*')
  return keys.map(key => key.slice('{kp}:daily:'.length)).sort()
}

// docs/faults.md, 62
test('Ctrl-C ends an import long before its days are done; what it stored stays', async t => {
  const program = startProcess('3650', { COINS: 'BTC' })
  await eventually('something is stored', async () => (await imported()).length > 0)
  t.equal(await program.end('SIGINT'), 0)
  t.equal(program.lines.at(-1), 'Stopped; run it again to go on from here.')
  t.strictSame(await imported(), ['BTC'])
  t.equal((await run({ COINS: 'BTC' })).at(-1), 'History is complete.')
})

test('imports only published coins, by the retention of the ingesters', async t => {
  await run({ COINS: 'all', DENY: 'BTC,ETH' })
  t.strictSame(await imported(), [])
  t.notOk((await run({ COINS: 'all' })).some(line => line.includes('not whole')))
  t.strictSame(await imported(), ['BTC', 'ETH'])
  t.equal((await run({ COINS: 'BTC', SAMPLE_RETENTION_DAYS: '9' })).at(-1), 'History is complete.')
  t.equal(await raw.hget('{kp}:meta', 'retention'), '1', 'which is as it was')
})

test('a coin that nobody publishes is named, the others are imported', async t => {
  const lines = await run({ COINS: 'ETH,XRP' })
  t.match(lines.join('\n'), /XRP: no ingester publishes it/)
  t.strictSame(await imported(), ['ETH'])
})

test('what can never work ends it with code 1 and the reason', async t => {
  for (const [days, env, reason] of [
    ['1', { COINS: 'NOSUCH' }, /^KIMCHI_ERR_UNKNOWN_SYMBOL: /],
    ['1', { REDIS_URL: 'redis://127.0.0.1:1' }, /^KIMCHI_ERR_REDIS: .*start the service first/],
  ] as const) {
    const { code, lines } = await start(['--days', days], env)
    t.equal(code, 1)
    t.match(lines.at(-1), reason)
  }
  const program = startProcess('0', {})
  t.equal(await program.ended, 1)
  t.match(
    program.lines.join('\n'),
    /KIMCHI_ERR_CONFIG: .*\n +--days must be an integer from 1 to 3650, got: "0"$/,
  )
})

test('days that neither the import nor an ingester fills are named in the last line', async t => {
  const env = { COINS: 'BTC', BACKFILL_DAYS: '0' }
  const yesterday = dateOf(minuteOf(Date.now()) - DAY_MINUTES)
  const days = `${yesterday} to ${yesterday}`
  t.equal((await run(env)).at(-1), `Not complete: no ingester with BACKFILL_DAYS=0 fills ${days}.`)
})

test('--help says how it is called, and needs neither a Redis nor an exchange', async t => {
  const { code, lines } = await start(['--help'], { REDIS_URL: 'nothing' })
  t.equal(code, 0)
  t.match(lines.join('\n'), /npm run backfill -- \[--days N\] \[--coins BTC,ETH\][\s\S]*REDIS_URL/)
})

test('an import of real prices into the Redis of a demo says in a sentence what is wrong', async t => {
  await run({ COINS: 'BTC' })
  const { code, lines } = await start(['--days', '1'], { PRICES: 'live', COINS: 'BTC' })
  t.equal(code, 1)
  t.match(lines.join('\n'), /of a demo\) and real ones never mix: set REDIS_URL to the Redis that npm start/)
})
