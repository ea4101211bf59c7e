import { premiumE4 } from '../../packages/core/dist/index.js'
import { createLogger } from '../../packages/runtime/dist/index.js'
import { createWriter, openRedis } from '../../packages/store/dist/index.js'
import { startRedis } from '../../packages/testkit/dist/index.js'

const MINUTES = 100

/**
 * Milliseconds from the call of a minute's write to its confirmation, minute by minute.
 * @param {number} coins
 */
export async function measureWrites(coins) {
  const server = await startRedis()
  const redis = openRedis(server.url)
  await redis.untilReady(5_000)
  const writer = createWriter({
    redis,
    prices: 'simulated',
    retentionDays: 8,
    log: createLogger('bench', 'silent'),
  })
  const symbols = Array.from({ length: coins }, (_, at) => `C${at}`)
  await writer.track(
    symbols.map(symbol => ({
      symbol,
      name: `Coin ${symbol}`,
      upbit: `KRW-${symbol}`,
      binance: `${symbol}USDT`,
    })),
  )
  const first = Math.floor(Date.now() / 60_000) - MINUTES
  const took = []
  for (let minute = first; minute < first + MINUTES; minute++) {
    const samples = symbols.map((symbol, at) => sampleOf(symbol, minute, at))
    const started = performance.now()
    await writer.write({ minute, samples })
    took.push(performance.now() - started)
  }
  await redis.close()
  await server.close()
  return took
}

/**
 * @param {string} symbol
 * @param {number} minute
 * @param {number} at
 */
function sampleOf(symbol, minute, at) {
  const prices = /** @type {const} */ ([140_123 + at, 100.12 + (minute % 7) / 100, 1_400.5])
  const [upbitKrw, binanceUsdt, usdtKrw] = prices
  return {
    symbol,
    minute,
    upbitKrw,
    binanceUsdt,
    usdtKrw,
    premiumE4: premiumE4(...prices),
    source: /** @type {const} */ ('live'),
  }
}
