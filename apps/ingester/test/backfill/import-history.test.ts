import { systemClock } from '@kimchi/runtime'
import { startSimulator } from '@kimchi/simulator'
import { connectRedis, openWriter } from '@kimchi/store'
import { startRedis } from '@kimchi/store/testing'
import t from 'tap'
import { importHistory } from '../../src/backfill/import-history.ts'
import { readConfig } from '../../src/config.ts'
import { BTC, silent } from '../support/backfill-bench.ts'

t.test('imports of all coins only those that are admitted, and never a denied one', async t => {
  const simulator = await startSimulator({ limits: false })
  t.teardown(() => simulator.close())
  const redis = await startRedis(t)
  const connection = connectRedis(redis.url, { name: 'test' })
  t.teardown(() => connection.close())
  await connection.untilReady(10_000)
  await openWriter({
    redis: connection,
    prices: 'simulated',
    retentionDays: 8,
    log: () => {},
  }).track([BTC])
  const run = (env: Record<string, string>) =>
    importHistory({
      config: readConfig({
        PRICES: 'simulated',
        REDIS_URL: redis.url,
        UPBIT_REST_URL: simulator.upbitRestUrl,
        BINANCE_REST_URL: simulator.binanceRestUrl,
        ...env,
      }),
      days: 1,
      id: 'import',
      clock: systemClock,
      random: () => 0.5,
      signal: new AbortController().signal,
      log: silent,
      onProgress: () => {},
    })
  const imported = async () => {
    const keys = await redis.client().keys('{kp}:daily:*')
    return keys.map(key => key.slice('{kp}:daily:'.length)).sort()
  }
  await run({ COINS: 'all' })
  t.strictSame(await imported(), ['BTC'])
  await run({ COINS: 'all', DENY: 'BTC' })
  t.strictSame(await imported(), ['BTC'])
  await run({ COINS: 'ETH' })
  t.strictSame(await imported(), ['BTC', 'ETH'], 'named')
})
