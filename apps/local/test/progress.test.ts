import t from 'tap'
import { reportQuarters } from '../src/progress.ts'

t.test('prints each quarter once, and starts again when there is more to do', async t => {
  const lines: string[] = []
  const show = reportQuarters('History', line => lines.push(line))
  for (const percent of [3, 24, 30, 50, 50, 60, 100, 40, 100]) show(percent)
  t.strictSame(lines, ['History: 25 %', 'History: 50 %', 'History: 100 %', 'History: 100 %'])
})
