import { startSimulator, syntheticCoins } from '../../packages/simulator/dist/index.js'

// A process of its own: the live simulator, with the many symbols of Binance that are no business of ours.
const [coins = 0, perSecond = 0, symbols = 0] = process.argv.slice(2).map(Number)
const others = Array.from({ length: symbols - coins }, (_, at) => ({
  id: `other-${at}`,
  price: 1 + at,
  binance: { base: `OTHER${at}`, tradesPerMinute: 1 },
}))
const simulator = await startSimulator({
  coins: [...syntheticCoins(coins, ((perSecond - coins) * 60) / coins), ...others],
  limits: false,
})
process.send?.({ url: simulator.url, upbitWsUrl: simulator.upbitWsUrl, binanceWsUrl: simulator.binanceWsUrl })
process.on('disconnect', () => process.exit(0))
