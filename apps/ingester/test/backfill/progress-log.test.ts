import { createMemoryLog } from '@kimchi/testkit'
import t from 'tap'
import { createProgressLog } from '../../src/backfill/progress-log.ts'

/** Decides `minutes` at a time, after which `left` are missing; returns the percentages that were logged. */
function percentages(steps: readonly { readonly minutes: number; readonly left: number }[]) {
  const log = createMemoryLog()
  let left = 0
  const logProgress = createProgressLog(() => left, log)
  for (const step of steps) {
    left = step.left
    logProgress('BTC', step.minutes, { samples: 0, gaps: 0 })
  }
  return log.lines.map(({ fields }) => fields.percent)
}

t.test('progress never goes back when more is found to do', async t => {
  const steps = [
    { minutes: 27, left: 73 },
    { minutes: 1, left: 84 },
    { minutes: 22, left: 62 },
    { minutes: 62, left: 0 },
  ]
  t.strictSame(percentages(steps), [27, 44, 100])
})

t.test('each round of work begins again; a single hole is worth no line', async t => {
  const rounds = [
    { minutes: 10, left: 0 },
    { minutes: 1, left: 0 },
    { minutes: 5, left: 5 },
    { minutes: 5, left: 0 },
  ]
  t.strictSame(percentages(rounds), [100, 50, 100])
})
