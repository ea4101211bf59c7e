import * as ccxt from 'ccxt'
import t, { type Test } from 'tap'
import { startSimulator } from '../src/index.ts'

const MINUTE = 60_000

async function exchanges(t: Test) {
  const simulator = await startSimulator()
  t.teardown(() => simulator.close())
  const { url } = simulator
  const upbit = new ccxt.upbit({ urls: { api: { public: url, private: url } } } as object)
  const binance = new ccxt.binance({
    urls: { api: { public: `${url}/api/v3` } },
    options: { fetchMarkets: { types: ['spot'] }, fetchCurrencies: false },
  } as object)
  for (const exchange of [upbit, binance]) {
    await exchange.loadHttpProxyAgent()
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
