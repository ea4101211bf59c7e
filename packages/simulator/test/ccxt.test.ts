import * as ccxt from 'ccxt'
import t, { type Test } from 'tap'
import { startSimulator } from '../src/index.ts'

const MINUTE = 60_000

async function exchanges(t: Test) {
  const simulator = await startSimulator()
  t.teardown(() => simulator.close())
  const { url, upbitWsUrl, binanceWsUrl } = simulator
  const upbit = new ccxt.pro.upbit({ urls: { api: { public: url, private: url, ws: upbitWsUrl } } } as object)
  const binance = new ccxt.pro.binance({
    urls: { api: { public: `${url}/api/v3`, ws: { spot: `${binanceWsUrl}/ws` } } },
    options: { fetchMarkets: { types: ['spot'] }, fetchCurrencies: false },
  } as object)
  for (const exchange of [upbit, binance]) {
    await exchange.loadHttpProxyAgent()
    t.teardown(() => exchange.close())
  }
  return { simulator, upbit, binance }
}

t.test('ccxt loads the markets of both exchanges', async t => {
  const { upbit, binance } = await exchanges(t)
  await Promise.all([upbit.loadMarkets(), binance.loadMarkets()])
  t.match(upbit.market('BTC/KRW'), { id: 'KRW-BTC', base: 'BTC', quote: 'KRW', spot: true })
  t.match(upbit.market('BTC/KRW').info, { english_name: 'Bitcoin', korean_name: '비트코인' })
  t.match(binance.market('BTC/USDT'), { id: 'BTCUSDT', active: true, spot: true })
  t.equal(binance.market('BTC/USDT').precision.price, 0.01)
  t.equal(binance.market('PROS/USDT').active, false)
})

t.test('ccxt fetches the candles that the prices have', async t => {
  const { simulator, upbit, binance } = await exchanges(t)
  const since = Math.floor(Date.now() / MINUTE) * MINUTE - 100 * MINUTE
  for (const [exchange, name, symbol, code] of [
    [upbit, 'upbit', 'BTC/KRW', 'KRW-BTC'],
    [binance, 'binance', 'BTC/USDT', 'BTCUSDT'],
  ] as const) {
    const rows = await exchange.fetchOHLCV(symbol, '1m', since, 50)
    t.equal(rows.length, 50, name)
    for (const row of rows) {
      const candle = simulator.prices.candle(name, code, Number(row[0]))
      t.strictSame(
        row.slice(1, 5),
        [candle?.open, candle?.high, candle?.low, candle?.close],
        `${name} ${row[0]}`,
      )
    }
  }
})

t.test('ccxt fetches a ticker', async t => {
  const { simulator, upbit, binance } = await exchanges(t)
  const krw = await upbit.fetchTicker('ETH/KRW')
  t.equal(krw.last, simulator.prices.lastTrade('upbit', 'KRW-ETH', Number(krw.timestamp) + 1)?.price)
  const usdt = await binance.fetchTicker('ETH/USDT')
  t.equal(usdt.last, simulator.prices.lastTrade('binance', 'ETHUSDT', Number(usdt.timestamp))?.price)
})

t.test('ccxt pro watches tickers of both exchanges', async t => {
  const { simulator, upbit, binance } = await exchanges(t)
  const [krw, usdt] = await Promise.all([
    upbit.watchTickers(['BTC/KRW', 'USDT/KRW']),
    binance.watchTickers(['BTC/USDT', 'ETH/USDT']),
  ])
  for (const ticker of Object.values(krw)) {
    const code = `KRW-${String(ticker.symbol).split('/')[0]}`
    t.equal(ticker.last, simulator.prices.lastTrade('upbit', code, Number(ticker.timestamp) + 1)?.price)
  }
  for (const ticker of Object.values(usdt)) {
    const code = String(ticker.symbol).replace('/', '')
    t.equal(ticker.last, simulator.prices.lastTrade('binance', code, Number(ticker.timestamp))?.price)
  }
  t.ok(Object.keys(krw).length > 0 && Object.keys(usdt).length > 0)
})
