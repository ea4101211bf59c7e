import { startSimulator, syntheticCoins } from '../../packages/simulator/dist/index.js'

// A process of its own: both exchanges' REST sides, with their limits multiplied. Arguments: coins, factor, share of
// candle requests that get a 429. Answers every message with the candle requests so far.
const [coins = 0, factor = 1, share = 0] = process.argv.slice(2).map(Number)
const requests = { upbit: 0, binance: 0, refused: 0 }
const simulator = await startSimulator({
  // Bitcoin comes by itself.
  coins: syntheticCoins(coins - 1),
  limits: factor,
  pumpMs: 0,
  onRequest: ({ exchange, path, status }) => {
    if (!/candles|klines/.test(path)) return
    requests[exchange] += 1
    if (status !== 200) requests.refused += 1
  },
})
if (share > 0) {
  for (const path of ['/v1/candles', '/api/v3/klines']) {
    simulator.faults.set({ kind: 'refuse', exchange: 'both', on: 'rest', path, status: 429, share })
  }
}
process.send?.({ url: simulator.url })
process.on('message', () => process.send?.(requests))
process.on('disconnect', () => process.exit(0))
