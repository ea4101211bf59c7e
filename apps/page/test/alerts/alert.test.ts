import t from 'tap'
import { firingOf, MEDIAN } from '../../src/alerts/alert.ts'
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
