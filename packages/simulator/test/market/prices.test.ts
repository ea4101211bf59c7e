import t from 'tap'
import { DEFAULT_COINS } from '../../src/market/coins.ts'
import { createListings } from '../../src/market/listings.ts'
import { createPrices } from '../../src/market/prices.ts'
import type { Exchange } from '../../src/market/types.ts'
import { NOON } from '../clients.ts'

const MINUTE = 60_000
const prices = createPrices('kimchi', createListings(DEFAULT_COINS), { pausesOf: () => [] })

/** Every n-th minute of the last 400 days, spread so that no two markets see the same. */
function* minutes(count: number, salt: number): Generator<number> {
  const newest = Math.floor(NOON / MINUTE)
  for (let i = 0; i < count; i++) yield (newest - ((i * 7_919 + salt * 104_729) % (400 * 1_440))) * MINUTE
}

t.test('a candle is the fold of the trades of its minute', async t => {
  let seen = 0
  for (const [salt, { market }] of createListings(DEFAULT_COINS).all('upbit').entries()) {
    for (const open of minutes(20, salt)) {
      const trades = prices.trades('upbit', market, open, open + MINUTE)
      const candle = prices.candle('upbit', market, open)
      if (trades.length === 0) {
        t.equal(candle, undefined)
        continue
      }
      seen += 1
      const found = trades.map(trade => trade.price)
      t.match(candle, {
        open: found[0],
        close: found.at(-1),
        high: Math.max(...found),
        low: Math.min(...found),
      })
      t.ok(trades.every(({ at }) => at >= open && at < open + MINUTE))
    }
  }
  t.ok(seen > 100, `${seen} minutes with trades`)
})

t.test('the close of a candle is the last trade before its end', async t => {
  for (const open of minutes(200, 3)) {
    for (const [exchange, code] of [
      ['upbit', 'KRW-BTC'],
      ['upbit', 'KRW-IQ'],
      ['binance', 'DOTUSDT'],
    ] satisfies [Exchange, string][]) {
      const candle = prices.candle(exchange, code, open)
      const last = prices.lastTrade(exchange, code, open + MINUTE)
      if (candle) t.equal(candle.close, last?.price)
      else t.ok((last?.at ?? 0) < open)
    }
  }
})

t.test('trades asked for in pieces are the trades asked for at once', async t => {
  const whole = prices.trades('upbit', 'KRW-XRP', NOON, NOON + 60_000)
  const pieces = Array.from({ length: 600 }, (_, i) =>
    prices.trades('upbit', 'KRW-XRP', NOON + i * 100, NOON + (i + 1) * 100),
  )
  t.strictSame(pieces.flat(), whole)
  t.ok(
    whole.every((trade, i) => i === 0 || trade.at >= (whole[i - 1]?.at ?? 0)),
    'in time order',
  )
})

t.test('the price of BTCUSDT changes in every minute, and quiet coins are quiet', async t => {
  for (const open of minutes(300, 5)) {
    const candle = prices.candle('binance', 'BTCUSDT', open)
    t.ok(candle && candle.high > candle.low, new Date(open).toISOString())
  }
  const day = prices.trades('upbit', 'KRW-IQ', NOON - 86_400_000, NOON)
  t.ok(day.length > 10 && day.length < 100, `${day.length} trades a day`)
})

t.test('the same seed gives the same prices, another seed others', async t => {
  const again = createPrices('kimchi', createListings(DEFAULT_COINS), { pausesOf: () => [] })
  const other = createPrices('other', createListings(DEFAULT_COINS), { pausesOf: () => [] })
  const from = NOON - 200 * 86_400_000
  t.strictSame(
    again.trades('upbit', 'KRW-BTC', from, from + MINUTE),
    prices.trades('upbit', 'KRW-BTC', from, from + MINUTE),
  )
  t.not(other.candle('upbit', 'KRW-BTC', from)?.close, prices.candle('upbit', 'KRW-BTC', from)?.close)
})

t.test('premiums and the rate stay in a believable range', async t => {
  for (const open of minutes(500, 7)) {
    const krw = prices.lastTrade('upbit', 'KRW-BTC', open)?.price ?? 0
    const usdt = prices.lastTrade('binance', 'BTCUSDT', open)?.price ?? 0
    const rate = prices.lastTrade('upbit', 'KRW-USDT', open)?.price ?? 0
    const premium = (krw / (usdt * rate) - 1) * 100
    t.ok(premium > -2 && premium < 4, `${premium} %`)
    t.ok(Number.isInteger(rate) && rate > 1_300 && rate < 1_500, `${rate} KRW`)
  }
})

t.test('coins that are the same under two tickers agree, and look-alikes do not', async t => {
  const premiumOf = (upbit: string, binance: string): number => {
    const krw = prices.lastTrade('upbit', upbit, NOON)?.price ?? 0
    const usdt = prices.lastTrade('binance', binance, NOON)?.price ?? 0
    return (krw / usdt / (prices.lastTrade('upbit', 'KRW-USDT', NOON)?.price ?? 0) - 1) * 100
  }
  t.ok(Math.abs(premiumOf('KRW-BEAM', 'BEAMXUSDT')) < 5)
  t.ok(Math.abs(premiumOf('KRW-MET2', 'METUSDT')) < 5)
  t.ok(Math.abs(premiumOf('KRW-AI', 'AIGENSYNUSDT')) < 5)
  t.ok(Math.abs(premiumOf('KRW-AI', 'AIUSDT') - 20) < 5, 'the false AI')
  t.ok(Math.abs(premiumOf('KRW-SONIC', 'SUSDT')) > 20)
})
