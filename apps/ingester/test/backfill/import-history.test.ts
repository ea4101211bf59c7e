import { systemClock } from '@kimchi/runtime'
import { startSimulator } from '@kimchi/simulator'
import { openRedis, SampleWriter } from '@kimchi/store'
import { startRedis } from '@kimchi/testkit'
import t from 'tap'
import { BACKFILL_LEASE } from '../../src/backfill/backfill-lease.ts'
import { importHistory } from '../../src/backfill/import-history.ts'
import { readConfig } from '../../src/config.ts'
import { BTC, silent } from '../support/backfill-bench.ts'

const LEASE = `{kp}:lease:${BACKFILL_LEASE}`

const simulator = await startSimulator({ limits: false, pumpMs: 0 })
t.teardown(() => simulator.close())
const redis = await startRedis(t)
const raw = redis.client()

/** Imports yesterday, as the command does. */
function run(env: Readonly<Record<string, string>>, onProgress = () => {}) {
  const config = readConfig({
    PRICES: 'simulated',
    REDIS_URL: redis.url,
    UPBIT_REST_URL: simulator.upbitRestUrl,
    BINANCE_REST_URL: simulator.binanceRestUrl,
    ...env,
  })
  return importHistory(
    { config, days: 1, id: 'import', version: '1.2.3', onProgress, speed: 50 },
    { clock: systemClock, random: () => 0.5, signal: new AbortController().signal, log: silent },
  )
}

const imported = async () => {
  const keys = await raw.keys('{kp}:daily:*')
  return keys.map(key => key.slice('{kp}:daily:'.length)).sort()
}

t.test('an import that breaks off leaves the work to the ingesters at once', async t => {
  const onProgress = () => {
    throw new Error('broken off')
  }
  await t.rejects(run({ COINS: 'BTC' }, onProgress), { message: 'broken off' })
  t.equal(await raw.get(LEASE), null)
})

t.test(
  'imports of all coins only those that are tracked, at once although an ingester holds the lease',
  async t => {
    await raw.flushall()
    const connection = openRedis(redis.url, { name: 'test' })
    t.teardown(() => connection.close())
    await connection.untilReady(10_000)
    await new SampleWriter({ redis: connection, prices: 'simulated', retentionDays: 8, log: silent }).track([
      BTC,
    ])
    await raw.set(LEASE, 'an ingester', 'PX', 600_000)
    t.strictSame(await run({ COINS: 'all' }), [], 'nothing is left out')
    t.strictSame(await imported(), ['BTC'])
    t.equal(await raw.get(LEASE), null, 'free again')
  },
)

t.test('a denied coin is never imported, one that is named is', async t => {
  await run({ COINS: 'ETH' })
  t.strictSame(await imported(), ['BTC', 'ETH'])
  await raw.del('{kp}:daily:BTC')
  await run({ COINS: 'all', DENY: 'BTC' })
  t.notOk((await imported()).includes('BTC'))
})
