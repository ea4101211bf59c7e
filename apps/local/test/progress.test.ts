import t from 'tap'
import { Progress } from '../src/progress.ts'

t.test('says a quarter at a time, and begins again when there is more to do', async t => {
  const lines: string[] = []
  const progress = new Progress('History', line => lines.push(line))
  for (const percent of [3, 24, 30, 50, 50, 60, 100, 40, 100]) progress.show(percent)
  t.strictSame(lines, ['History: 25 %', 'History: 50 %', 'History: 100 %', 'History: 100 %'])
})
