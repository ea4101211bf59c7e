import t from 'tap'
import { waitAfterAnswer } from '../src/schedule.ts'

const M = 29_000_000 * 60_000
const seconds = (now: number, more: { isUnchanged?: boolean; onceMore?: boolean } = {}, jitter = 0) => {
  const answered = { updatedAt: M, now: M + now * 1_000, isUnchanged: false, onceMore: false, ...more }
  return waitAfterAnswer(answered, () => jitter) / 1_000
}

t.test('the next request comes 65 to 70 s after the newest minute', async t => {
  t.equal(seconds(5), 60)
  t.equal(seconds(5, {}, 1), 65)
  t.equal(seconds(64, {}, 0.5), 3.5)
})

t.test('an unchanged answer brings no earlier request', async t => {
  t.equal(seconds(30, { isUnchanged: true }), 35, 'a page that was loaded twice in a minute')
})

t.test('an overdue minute is requested a minute later, or once more after 10 s', async t => {
  t.equal(seconds(67, { isUnchanged: true }), 58, '125 s after the newest minute')
  t.equal(seconds(67, { isUnchanged: true, onceMore: true }), 10)
  t.equal(seconds(30, { isUnchanged: true, onceMore: true }), 35, 'only when it is due')
  t.equal(seconds(600), 5, 'hours-old data lead to no burst')
})

t.test('a clock that lags does not stop the requests', async t => {
  t.equal(seconds(-3_600), 70)
})
