import t from 'tap'
import { firingOf, MEDIAN } from '../../src/alerts/alert.ts'
import { liveListOf } from '../answers.ts'

const list = liveListOf('2026-11-21T13:05:00')

t.test('fires at the threshold and beyond, above or below', async t => {
  const targets = (isAbove: boolean, threshold: number) =>
    firingOf({ BTC: { isAbove, threshold } }, list).map(({ target }) => target)
  t.strictSame(targets(true, 1.2341), ['BTC'])
  t.strictSame(targets(true, 1.2342), [])
  t.strictSame(targets(false, 1.2341), ['BTC'])
  t.strictSame(targets(false, 1.234), [])
})

t.test('the median fires like a coin', async t => {
  t.match(firingOf({ [MEDIAN]: { isAbove: true, threshold: 0.5 } }, list), [
    { target: MEDIAN, premium_pct: 0.8906 },
  ])
})

t.test('a coin that is not listed, or whose row is old, fires nothing', async t => {
  const always = { isAbove: true, threshold: -100 }
  t.strictSame(firingOf({ NOPE: always }, list), [])
  const data = list.data.map(coin => ({ ...coin, snapshot_at: '2026-11-21T13:04:00' }))
  t.strictSame(firingOf({ BTC: always }, { ...list, data }), [])
})
