import t from 'tap'
import { currentRows } from '../../src/live/current-rows.ts'
import { liveListOf } from '../answers.ts'

const list = liveListOf('2026-11-21T13:05:00')
const at = Date.UTC(2026, 10, 21, 13, 5)

t.test('no row of a list is current once three later minutes are missing', async t => {
  t.equal(currentRows(list, at + 4 * 60_000).length, 10)
  t.strictSame(currentRows(list, at + 4 * 60_000 + 1), [])
  t.strictSame(currentRows(undefined, at), [])
})
