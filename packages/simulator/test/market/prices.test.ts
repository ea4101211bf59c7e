import t from 'tap'
import { DEFAULT_COINS } from '../../src/market/coins.ts'
import { createListings } from '../../src/market/listings.ts'
import { createPrices } from '../../src/market/prices.ts'
import type { Exchange } from '../../src/market/types.ts'
import { NOON } from '../clients.ts'

const MINUTE = 60_000
const prices = createPrices('kimchi', createListings(DEFAULT_COINS), {
  pausesOf: () => [],
  movesOf: () => () => 1,
})

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
