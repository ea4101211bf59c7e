import { premiumE4 } from '../../packages/core/dist/index.js'
import { createLogger } from '../../packages/runtime/dist/index.js'
import { createWriter, openRedis } from '../../packages/store/dist/index.js'

const RETENTION_DAYS = 8
const DAY_MINUTES = 1_440

/**
 * Fills an empty Redis through the real writer.
 * @param {string} url
 * @param {{ coins: number, days: number }} options `days` of history before the retention, whole days
 */
export async function fill(url, { coins, days }) {
  const redis = openRedis(url)
  await redis.untilReady(5_000)
  const symbols = ['BTC', ...Array.from({ length: coins - 1 }, (_, n) => `C${n}`)]
  const writer = createWriter({
    redis,
    prices: 'simulated',
    retentionDays: RETENTION_DAYS,
    log: createLogger('bench', 'silent'),
  })
  await writer.track(
    symbols.map(symbol => ({
      symbol,
      name: `Coin ${symbol}`,
      upbit: `KRW-${symbol}`,
      binance: `${symbol}USDT`,
    })),
  )
  const today = Math.floor(Date.now() / 86_400_000)
  for (const symbol of symbols) {
    const writes = []
    for (let day = today - days - RETENTION_DAYS; day < today - RETENTION_DAYS; day++) {
      writes.push(writer.importDay(symbol, dayOf(day)))
    }
    await Promise.all(writes)
  }
  /** @param {number} minute */
  const writeMinute = minute =>
    writer.write({ minute, samples: symbols.map(symbol => sampleOf(symbol, minute)) })
  /**
   * Writes the present minute, and each later one within its first second, as an ingester does.
   * @returns {Promise<() => Promise<void>>} ends it
   */
  const keepWriting = async () => {
    let written = 0
    const write = async () => {
      const minute = Math.floor(Date.now() / 60_000)
      if (minute !== written) await writeMinute(minute)
      written = minute
    }
    let writing = write()
    await writing
    const timer = setInterval(() => {
      writing = writing.then(write)
    }, 1_000)
    return () => {
      clearInterval(timer)
      return writing
    }
  }
  return { symbols, writeMinute, keepWriting, close: () => redis.close() }
}

/** @param {number} day since 1970 */
function dayOf(day) {
  const [open, low, close, high] = [-12_345 + (day % 97), -54_321, 9_876, 43_210 + (day % 89)]
  return {
    date: new Date(day * 86_400_000).toISOString().slice(0, 10),
    open,
    high,
    low,
    close,
    sum: 1_234_567 + day,
    samples: DAY_MINUTES,
    firstMinute: day * DAY_MINUTES,
    lastMinute: day * DAY_MINUTES + DAY_MINUTES - 1,
  }
}

/** @param {string} symbol @param {number} minute */
function sampleOf(symbol, minute) {
  const [upbitKrw, binanceUsdt, usdtKrw] = [143_500_000 + (minute % 1_000), 101_250.5, 1_400]
  const premium = premiumE4(upbitKrw, binanceUsdt, usdtKrw)
  return {
    symbol,
    minute,
    upbitKrw,
    binanceUsdt,
    usdtKrw,
    premiumE4: premium,
    source: /** @type {const} */ ('live'),
  }
}
