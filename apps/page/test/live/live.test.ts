import t from 'tap'
import { isOverdue } from '../../src/live/live.ts'
import { liveListOf } from '../answers.ts'

t.test('a minute is overdue when three more have passed', async t => {
  const list = liveListOf('2026-11-21T13:05:00')
  const at = Date.UTC(2026, 10, 21, 13, 5)
  t.equal(isOverdue(list, at + 4 * 60_000), false)
  t.equal(isOverdue(list, at + 4 * 60_000 + 1), true)
})
