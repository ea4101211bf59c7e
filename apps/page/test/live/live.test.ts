import { ApiError, type LiveList, type LiveUpdate } from '@kimchi/client'
import t from 'tap'
import { afterUpdate, beginWith, isOverdue, type Live } from '../../src/live/live.ts'

const list = (updated_at: string, count = 0): LiveList => ({
  result: 'ok',
  updated_at,
  count,
  note: '',
  data: [],
})
const MINUTE = '2026-11-21T13:05:00'
const update = (more: Partial<LiveUpdate>): LiveUpdate => ({
  list: undefined,
  error: undefined,
  clockOffsetMs: 0,
  nextInMs: 60_000,
  ...more,
})
const notReady = update({ error: new ApiError('not ready', { code: 'not_ready', status: 503 }) })

/** What the page shows after each of these updates. */
function shownAfter(first: Live, updates: readonly LiveUpdate[]): Live[] {
  let live = first
  return updates.map(next => {
    live = afterUpdate(live, next)
    return live
  })
}

t.test(
  'begins with the list of an earlier visit, and keeps it when the service has just started',
  async t => {
    const kept = beginWith(list(MINUTE, 10))
    t.strictSame(kept.list, list(MINUTE, 10))
    const [shown] = shownAfter(kept, [{ ...notReady, list: kept.list }])
    t.match(shown, { list: list(MINUTE, 10), error: { code: 'not_ready' }, isGathering: false })
  },
)

t.test('shows no incomplete list of a service that has just started', async t => {
  const counts = [4, 10, 10].map(count => update({ list: list(MINUTE, count) }))
  const shown = shownAfter(beginWith(undefined), [notReady, notReady, ...counts])
  t.strictSame(
    shown.map(({ isGathering }) => isGathering),
    [true, true, true, true, false],
    'the first lists may lack coins',
  )
})

t.test('a list that comes at once is shown at once, and a failure says so', async t => {
  const error = new ApiError('no answer', { code: 'unreachable' })
  const shown = shownAfter(beginWith(undefined), [
    update({ list: list(MINUTE, 4) }),
    update({ list: list(MINUTE, 4), error }),
  ])
  t.match(shown, [
    { isGathering: false, error: undefined },
    { isGathering: false, error },
  ])
})

t.test('a minute is overdue when three more have passed', async t => {
  const at = Date.parse(`${MINUTE}Z`)
  t.equal(isOverdue(list(MINUTE), at + 4 * 60_000), false)
  t.equal(isOverdue(list(MINUTE), at + 4 * 60_000 + 1), true)
})
