import { createManualClock } from '@kimchi/core/testing'
import t from 'tap'
import { createConnectionBudget } from '../../src/feed/connection-budget.ts'
import { AT } from '../harness.ts'

t.test('the 21st connection waits until the first is five minutes old', async t => {
  const clock = createManualClock(AT)
  const spend = createConnectionBudget({ clock, signal: new AbortController().signal })
  for (let spent = 0; spent < 20; spent++) await spend()
  let isSpent = false
  const waiting = spend().then(() => {
    isSpent = true
  })
  await clock.advance(299_999)
  t.notOk(isSpent)
  await clock.advance(1)
  await waiting
  t.ok(isSpent)
})
