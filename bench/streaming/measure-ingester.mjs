import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startRedis } from '../../packages/testkit/dist/index.js'

const SYMBOLS = 3_500
/** Longer than the REST child lives without work, so that each refresh starts one, as the hourly ones do. */
const REFRESH_SECONDS = 40
const SECONDS = 140

/**
 * Runs a real ingester on the live simulator and a real Redis, and tells what it needed.
 * @param {number} coins
 * @param {number} framesPerSecond
 */
export async function measureIngester(coins, framesPerSecond) {
  const redis = await startRedis()
  const exchange = fork(
    join(import.meta.dirname, 'exchange.mjs'),
    [coins, framesPerSecond, SYMBOLS].map(String),
  )
  const [urls] = await once(exchange, 'message')
  const settings = {
    COINS: 'all',
    PRICES: 'simulated',
    BACKFILL_DAYS: '0',
    OPS_PORT: '0',
    REDIS_URL: redis.url,
    UPBIT_WS_URL: urls.upbitWsUrl,
    UPBIT_REST_URL: urls.url,
    BINANCE_WS_URL: urls.binanceWsUrl,
    BINANCE_REST_URL: urls.url,
  }
  const args = [JSON.stringify(settings), String(REFRESH_SECONDS), String(SECONDS)]
  const ingester = fork(join(import.meta.dirname, 'ingester.mjs'), args)
  const idle = fork(join(import.meta.dirname, 'idle.mjs'))
  const [{ metrics, ...result }] = await once(ingester, 'message')
  await once(ingester, 'exit')
  idle.send('stop')
  const [idleStallMs] = await once(idle, 'message')
  process.stderr.write(`stalls of the ingester: ${result.stalls || 'none above 20 ms'}\n`)
  const commands = /** @type {string} */ (await redis.client().info('commandstats'))
  exchange.disconnect()
  await redis.close()
  const value = (/** @type {string} */ name) => {
    const lines = [...metrics.matchAll(new RegExp(`^${name}\\S* ([0-9.e+]+)$`, 'gm'))]
    return lines.reduce((sum, [, number]) => sum + Number(number), 0)
  }
  const [, calls = '1', usec = '0'] = /cmdstat_fcall:calls=(\d+),usec=(\d+)/.exec(commands) ?? []
  return {
    ...result,
    idleStallMs,
    symbols: SYMBOLS,
    seconds: SECONDS,
    refreshes: Math.floor(SECONDS / REFRESH_SECONDS),
    refreshSeconds: REFRESH_SECONDS,
    // The ten seconds of the start have frames too.
    framesPerSecond:
      value('kimchi_ingester_feed_events_total\\{exchange="[a-z]+",event="frames"') / (SECONDS + 10),
    samples: value('kimchi_ingester_samples_total\\{outcome="accepted"'),
    calls: Number(calls),
    redisMs: Number(usec) / Number(calls) / 1_000,
  }
}
