import t from 'tap'
import { firingOf, MEDIAN } from '../../src/alerts/alert.ts'
import { liveListOf } from '../answers.ts'

const rows = liveListOf('2026-11-21T13:05:00').data

t.test('fires at the threshold and beyond, above or below', async t => {
  const targets = (isAbove: boolean, threshold: number) =>
    firingOf({ BTC: { isAbove, threshold } }, rows).map(({ target }) => target)
  t.strictSame(targets(true, 1.2341), ['BTC'])
  t.strictSame(targets(true, 1.2342), [])
  t.strictSame(targets(false, 1.2341), ['BTC'])
  t.strictSame(targets(false, 1.234), [])
})

t.test('the median fires like a coin', async t => {
  t.match(firingOf({ [MEDIAN]: { isAbove: true, threshold: 0.5 } }, rows), [
    { target: MEDIAN, premium_pct: 0.8906 },
  ])
})

t.test('a coin without a current row, and the median of none, fire nothing', async t => {
  const always = { isAbove: true, threshold: -100 }
  t.strictSame(firingOf({ NOPE: always }, rows), [])
  t.strictSame(firingOf({ BTC: always, [MEDIAN]: always }, []), [])
})
