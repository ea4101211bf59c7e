import { renderLiveList } from '../../apps/api/dist/documents/live-list.js'
import { premiumE4 } from '../../packages/core/dist/index.js'

/** In the past, so that max-age is the same all the time. */
const MINUTE = Date.UTC(2026, 10, 20, 13, 5) / 60_000

/**
 * A live list as the API renders it.
 * @param {number} count of coins
 */
export function listOf(count) {
  const symbols = ['BTC', ...Array.from({ length: count - 1 }, (_, n) => `C${n}`)]
  const rows = symbols.map((symbol, order) => {
    const [upbitKrw, binanceUsdt, usdtKrw] = [143_500_000 - order, 101_250.5 - order, 1_400]
    const premium = premiumE4(upbitKrw, binanceUsdt, usdtKrw)
    return { symbol, minute: MINUTE, upbitKrw, binanceUsdt, usdtKrw, premiumE4: premium }
  })
  const coins = symbols.map(symbol => ({ symbol, name: `Coin ${symbol}`, tracked: true }))
  const empty = { todayRows: new Map(), revisions: new Map(), corrupt: 0 }
  const list = renderLiveList({ coins, rows, prices: 'live', today: '2026-11-21', ...empty })
  if (list === undefined) throw new Error('a list has a coin at least')
  return list
}
