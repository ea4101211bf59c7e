import { MINUTE_MS } from '@kimchi/core'
import { DEFAULT_COINS } from '@kimchi/simulator'
import t from 'tap'
import { openMinuteBench } from '../support/minute-bench.ts'

/** Trades a minute on Upbit in a quiet night: BTC every two seconds, the others 3.5 a second together. */
const NIGHT: Readonly<Record<string, number>> = { BTC: 30, USDT: 30, ETH: 60, XRP: 60, SOL: 60 }
const BTC = { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }

// docs/faults.md, 61
t.test('COINS=BTC in a quiet night: at most one minute in six has no live sample', async t => {
  const simulated = DEFAULT_COINS.flatMap(coin => {
    const tradesPerMinute = NIGHT[coin.id]
    if (tradesPerMinute === undefined || coin.upbit === undefined) return []
    return { ...coin, upbit: { ...coin.upbit, tradesPerMinute } }
  })
  const { clock, samples, reports, passTo, wrong } = await openMinuteBench(t, { coins: [BTC], simulated })
  await passTo(clock.now() + MINUTE_MS)
  const first = reports.length
  await passTo(clock.now() + 60 * MINUTE_MS)
  const hour = reports.slice(first)
  const gaps = hour.filter(report => report.gaps.length > 0).length
  t.comment(`${gaps} of ${hour.length} minutes without a live sample`)
  t.ok(gaps <= hour.length / 6)
  t.ok(samples.every(({ symbol }) => symbol === 'BTC'))
  t.strictSame(wrong(), [])
})
