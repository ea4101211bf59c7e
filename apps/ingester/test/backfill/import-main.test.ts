import { DAY_MINUTES, dateOf, minuteOf } from '@kimchi/core'
import { startSimulator } from '@kimchi/simulator'
import { openRedis, SampleWriter } from '@kimchi/store'
import { eventually, startProgram, startRedis } from '@kimchi/testkit'
import t from 'tap'
import { BACKFILL_LEASE } from '../../src/backfill/backfill-lease.ts'
import { BTC, silent } from '../support/backfill-bench.ts'

/** The built program, as `npm run backfill` starts it. */
const PROGRAM = new URL('../../dist/backfill/import-main.js', import.meta.url).pathname
const LEASE = `{kp}:lease:${BACKFILL_LEASE}`

const simulator = await startSimulator({ limits: false, pumpMs: 0 })
t.teardown(() => simulator.close())
const redis = await startRedis(t)
const raw = redis.client()
t.beforeEach(() => raw.flushall())

const start = (days: string, env: Readonly<Record<string, string>>) =>
  startProgram(t, [PROGRAM, '--days', days], {
    PRICES: 'simulated',
    UPBIT_REQUESTS_PER_SECOND: '10',
    REDIS_URL: redis.url,
    UPBIT_REST_URL: simulator.upbitRestUrl,
    BINANCE_REST_URL: simulator.binanceRestUrl,
    ...env,
  })

/** Imports yesterday to the end. */
async function run(env: Readonly<Record<string, string>>) {
  const program = start('1', env)
  t.equal(await program.ended, 0)
  return program.lines
}

const imported = async () => {
  const keys = await raw.keys('{kp}:daily:*')
  return keys.map(key => key.slice('{kp}:daily:'.length)).sort()
}

t.test('62. Ctrl-C ends an import within seconds; what it stored stays, its coins are free', async t => {
  const program = start('3650', { COINS: 'BTC' })
  await eventually('something is stored', async () => (await imported()).length > 0)
  t.ok(await raw.get(LEASE), 'ingesters leave its coins alone')
  const endedAt = Date.now()
  t.equal(await program.end('SIGINT'), 0)
  t.ok(Date.now() - endedAt <= 5_000)
  t.equal(program.lines.at(-1), 'Stopped; run it again to go on from here.')
  t.equal(await raw.get(LEASE), null)
  t.strictSame(await imported(), ['BTC'])
  t.equal((await run({ COINS: 'BTC' })).at(-1), 'History is complete.')
})

t.test('Ctrl-C ends an import that passes over days which it has already', async t => {
  const dates = Array.from({ length: 3_660 }, (_, ago) => dateOf(minuteOf(Date.now()) - ago * DAY_MINUTES))
  for (const symbol of ['BTC', 'ETH', 'XRP']) await raw.sadd(`{kp}:imported:${symbol}`, ...dates)
  const program = start('3650', { COINS: 'BTC,ETH,XRP', SAMPLE_RETENTION_DAYS: '1', BACKFILL_DAYS: '0' })
  await eventually('it passes over days', async () => {
    const [, calls = 0] = /cmdstat_smembers:calls=(\d+)/.exec(await raw.info('commandstats')) ?? []
    return Number(calls) > 100
  })
  t.equal(await program.end('SIGINT'), 0)
  t.equal(program.lines.at(-1), 'Stopped; run it again to go on from here.')
})

t.test(
  'imports of all coins only those that are tracked, at once although an ingester holds the lease',
  async t => {
    const connection = openRedis(redis.url, { name: 'test' })
    t.teardown(() => connection.close())
    await connection.untilReady(10_000)
    await new SampleWriter({ redis: connection, prices: 'simulated', retentionDays: 8, log: silent }).track([
      BTC,
    ])
    await raw.set(LEASE, 'an ingester', 'PX', 600_000)
    await run({ COINS: 'all', DENY: 'BTC' })
    t.strictSame(await imported(), [])
    t.notOk((await run({ COINS: 'all' })).some(line => line.includes('not whole')))
    t.strictSame(await imported(), ['BTC'])
    t.equal(await raw.get(LEASE), null, 'free again')
  },
)

t.test('a coin that is unknown is named, one that is denied never imported, the others are', async t => {
  const lines = await run({ COINS: 'ETH,NOSUCH' })
  t.match(lines.join('\n'), /NOSUCH: not on Upbit in KRW/)
  t.strictSame(await imported(), ['ETH'])
})

t.test('what can never work ends it with code 1 and the reason', async t => {
  for (const [days, env, reason] of [
    ['0', {}, 'KIMCHI_ERR_CONFIG: --days must be an integer from 1 to 3650, got: "0"'],
    ['1', { COINS: 'NOSUCH' }, /^KIMCHI_ERR_UNKNOWN_SYMBOL: /],
    ['1', { REDIS_URL: 'redis://127.0.0.1:1' }, /^KIMCHI_ERR_REDIS: .*start the service first/],
  ] as const) {
    const program = start(days, env)
    t.equal(await program.ended, 1)
    t.match(program.lines.at(-1), reason)
  }
})
