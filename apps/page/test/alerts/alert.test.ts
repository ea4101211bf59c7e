import t from 'tap'
import {
  type Alerts,
  type Band,
  firingOf,
  keyOf,
  MEDIAN,
  type Told,
  toldAfter,
} from '../../src/alerts/alert.ts'
import { liveListOf } from '../answers.ts'

const rows = liveListOf('2026-11-21T13:05:00').data

t.test('fires at a bound and beyond, above or below, and not between two', async t => {
  const bound = (above?: number, below?: number) =>
    firingOf({ BTC: { above, below } }, rows).map(({ bound }) => bound)
  t.strictSame(bound(1.2341), ['above'])
  t.strictSame(bound(1.2342), [])
  t.strictSame(bound(undefined, 1.2341), ['below'])
  t.strictSame(bound(undefined, 1.234), [])
  t.strictSame(bound(1.3, 1.2), [])
  t.strictSame(bound(1.3, 1.25), ['below'])
})

t.test('the median fires like a coin', async t => {
  t.match(firingOf({ [MEDIAN]: { above: 0.5 } }, rows), [{ target: MEDIAN, premium_pct: 0.8906 }])
})

t.test('a coin without a current row, and the median of none, fire nothing', async t => {
  const always = { above: -100 }
  t.strictSame(firingOf({ NOPE: always }, rows), [])
  t.strictSame(firingOf({ BTC: always, [MEDIAN]: always }, []), [])
})

/** How often somebody is told by these premiums in turn; null: no current row. */
function tellings(premiums: readonly (number | null)[], band: Band, krw = 100_000_000) {
  let told: Told = {}
  let count = 0
  for (const premium_pct of premiums) {
    const row = { symbol: 'BTC', name: 'Bitcoin', upbit_krw: krw, binance_usdt: 1, usdt_krw: 1_400 }
    const current = premium_pct === null ? [] : [{ ...row, premium_pct, snapshot_at: '' }]
    const alerts: Alerts = { BTC: band }
    const fresh = firingOf(alerts, current).filter(one => told[keyOf(one)] !== one.threshold)
    count += fresh.length
    told = toldAfter(told, alerts, current)
  }
  return count
}

t.test('told once, and again after a current premium was back by a tenth of a point', async t => {
  t.equal(tellings([2.01, 1.99, 2.01, 1.91, 2.01], { above: 2 }), 1)
  t.equal(tellings([2.01, 1.9, 2.01], { above: 2 }), 2, 'to the last digit')
  t.equal(tellings([0.2, 0.3, 0.2, 0.3], { above: 0.3 }), 2, 'of binary fractions, too')
  t.equal(tellings([-2, -1.91, -2, -1.9, -2], { below: -2 }), 2)
  t.equal(tellings([2.5, null, 2.5, null, 2.5], { above: 2 }), 1, 'an unknown value ends nothing')
})

t.test('a coarse premium has to be back by its own resolution', async t => {
  // Steps of 1 in 100 won, and of 1 in 1,400: 1.07 points.
  t.equal(tellings([2, 1, 2], { above: 2 }, 100), 1)
  t.equal(tellings([2, 0.9, 2], { above: 2 }, 100), 2)
})

t.test('a changed bound begins anew, the other one stays, and a removed one is forgotten', async t => {
  const told = toldAfter({}, { BTC: { above: 1, below: 5 } }, rows)
  t.strictSame(told, { 'BTC above': 1, 'BTC below': 5 })
  t.strictSame(toldAfter(told, { BTC: { above: 1.3, below: 5 } }, []), { 'BTC below': 5 })
  t.strictSame(toldAfter(told, {}, rows), {})
})
