// Bytes of Redis memory per stored sample, beside one sorted set of JSON per coin, in the same run on the
// same server.
// usage: npm run build && node bench/redis-memory.mjs [coins] [days]

import { createWriter, openRedis } from '@kimchi/store'
import { startRedis } from '@kimchi/testkit'
import { minuteOf, premiumE4 } from '../packages/core/dist/index.js'
import { createLogger } from '../packages/runtime/dist/index.js'

const [coins = 10, days = 2] = process.argv.slice(2).map(Number)
const redis = await startRedis()
const connection = openRedis(redis.url)
await connection.untilReady(10_000)
const raw = redis.client()
const writer = createWriter({
  redis: connection,
  prices: 'simulated',
  retentionDays: 8,
  log: createLogger('bench', 'silent'),
})

const symbols = Array.from({ length: coins }, (_, coin) => `COIN${coin}`)
const end = minuteOf(Date.now())
const minutes = Array.from({ length: days * 1_440 }, (_, at) => end - days * 1_440 + at)

await writer.write({ minute: end, samples: [sampleOf('WARM', 0, end)] })
const ours = await memoryOf(async () => {
  for (let start = 0; start < minutes.length; start += 500) {
    const samples = minutes
      .slice(start, start + 500)
      .flatMap(at => symbols.map((s, coin) => sampleOf(s, coin, at)))
    await writer.write({ minute: end, samples })
  }
})
const plain = await memoryOf(async () => {
  for (const [coin, symbol] of symbols.entries()) {
    for (let start = 0; start < minutes.length; start += 500) {
      const members = minutes.slice(start, start + 500).flatMap(at => {
        const { minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: e4, source } = sampleOf(symbol, coin, at)
        return [
          minute,
          JSON.stringify({ minute, upbitKrw, binanceUsdt, usdtKrw, premiumPct: e4 / 10_000, source }),
        ]
      })
      await raw.zadd(`plain:${symbol}`, ...members)
    }
  }
})
const samples = coins * minutes.length
console.log(`${samples} samples of ${coins} coins over ${days} days, keys and day rows included`)
console.table([
  { layout: 'packed, one small sorted set per coin and hour', 'bytes per sample': rounded(ours / samples) },
  { layout: 'JSON, one sorted set per coin', 'bytes per sample': rounded(plain / samples) },
])
await connection.close()
await redis.close()

/**
 * How much more memory the data take after `fill`.
 * @param {() => Promise<void>} fill
 */
async function memoryOf(fill) {
  const before = await usedDataset()
  await fill()
  return (await usedDataset()) - before
}

/** All memory of the server without the buffers of its connections. */
async function usedDataset() {
  const text = await raw.info('memory')
  const field = (/** @type {string} */ name) => Number(new RegExp(`${name}:(\\d+)`).exec(text)?.[1])
  return field('used_memory') - field('mem_clients_normal')
}

/**
 * Prices with as many digits as the exchanges send.
 * @param {string} symbol @param {number} coin @param {number} minute
 * @returns {import('../packages/core/dist/index.js').Sample}
 */
function sampleOf(symbol, coin, minute) {
  const wave = 1 + Math.sin(minute / 97 + coin) / 50
  const binanceUsdt = Number((86_000 / 7 ** (coin % 6)) * wave).toPrecision(7)
  const usdtKrw = 1_390 + Math.round(5 * Math.sin(minute / 300))
  const upbitKrw = Number((Number(binanceUsdt) * usdtKrw * 1.01).toPrecision(coin % 6 === 0 ? 6 : 4))
  const prices = { upbitKrw, binanceUsdt: Number(binanceUsdt), usdtKrw }
  return {
    symbol,
    minute,
    ...prices,
    premiumE4: premiumE4(upbitKrw, Number(binanceUsdt), usdtKrw),
    source: 'candle',
  }
}

/** @param {number} bytes */
function rounded(bytes) {
  return Math.round(bytes * 10) / 10
}
