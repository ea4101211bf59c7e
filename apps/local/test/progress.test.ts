import t from 'tap'
import { reportQuarters } from '../src/progress.ts'

/** Prints these percentages, each the given time after the one before. */
function show(percentages: readonly number[], everyMs: number): string[] {
  const lines: string[] = []
  let now = 0
  const report = reportQuarters(
    'History',
    line => lines.push(line),
    () => now,
  )
  for (const percent of percentages) {
    now += everyMs
    report(percent)
  }
  return lines
}

t.test('prints each quarter once, and starts again when there is more to do', async t => {
  t.strictSame(show([3, 24, 30, 50, 50, 60, 100, 40, 100], 5_000), [
    ...['History: 25 %', 'History: 50 %', 'History: 100 %', 'History: 100 %'],
  ])
})

t.test('a second start, with nothing left to do, prints one line', async t => {
  t.strictSame(show([10, 25, 50, 75, 100], 10), ['History: 100 %'])
})
