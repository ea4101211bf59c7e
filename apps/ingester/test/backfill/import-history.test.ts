import { systemClock } from '@kimchi/runtime'
import { startSimulator } from '@kimchi/simulator'
import { createWriter, leaseKey, openRedis } from '@kimchi/store'
import { startRedis } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { BACKFILL_LEASE } from '../../src/backfill/backfill-lease.ts'
import { importHistory } from '../../src/backfill/import-history.ts'
import { readConfig } from '../../src/config.ts'
import { BTC, silent } from '../support/backfill-bench.ts'

interface Bench {
  readonly env: Readonly<Record<string, string>>
  readonly onProgress?: () => void
}

async function openBench(t: Test) {
  const simulator = await startSimulator({ limits: false })
  t.teardown(() => simulator.close())
  const redis = await startRedis(t)
  const run = ({ env, onProgress = () => {} }: Bench) =>
    importHistory(
      {
        config: readConfig({
          PRICES: 'simulated',
          REDIS_URL: redis.url,
          UPBIT_REST_URL: simulator.upbitRestUrl,
          BINANCE_REST_URL: simulator.binanceRestUrl,
          ...env,
        }),
        days: 1,
        id: 'import',
        onProgress,
      },
      { clock: systemClock, random: () => 0.5, signal: new AbortController().signal, log: silent },
    )
  return { redis, run }
}

t.test('imports of all coins only those that are tracked, and never a denied one', async t => {
  const { redis, run } = await openBench(t)
  const connection = openRedis(redis.url, { name: 'test' })
  t.teardown(() => connection.close())
  await connection.untilReady(10_000)
  await createWriter({
    redis: connection,
    prices: 'simulated',
    retentionDays: 8,
    log: silent,
  }).track([BTC])
  const imported = async () => {
    const keys = await redis.client().keys('{kp}:daily:*')
    return keys.map(key => key.slice('{kp}:daily:'.length)).sort()
  }
  await run({ env: { COINS: 'all' } })
  t.strictSame(await imported(), ['BTC'])
  await run({ env: { COINS: 'all', DENY: 'BTC' } })
  t.strictSame(await imported(), ['BTC'])
  await run({ env: { COINS: 'ETH' } })
  t.strictSame(await imported(), ['BTC', 'ETH'], 'named')
})

t.test('an import that breaks off leaves the work to the ingesters at once', async t => {
  const { redis, run } = await openBench(t)
  const onProgress = () => {
    throw new Error('broken off')
  }
  await t.rejects(run({ env: { COINS: 'BTC' }, onProgress }), { message: 'broken off' })
  t.equal(await redis.client().get(leaseKey(BACKFILL_LEASE)), null)
})

t.test('an import does not wait for the ingester that holds the backfill lease', async t => {
  const { redis, run } = await openBench(t)
  const key = leaseKey(BACKFILL_LEASE)
  await redis.client().set(key, 'an ingester', 'PX', 600_000)
  await run({ env: { COINS: 'BTC' } })
  t.equal(await redis.client().exists('{kp}:daily:BTC'), 1)
  t.equal(await redis.client().get(key), null, 'free again')
})
