import t from 'tap'
import { stayClearOfMidnight } from '../src/midnight.ts'

t.test('waits over midnight when less than a minute of the day is left, else not at all', async t => {
  const waits: number[] = []
  const wait = async (ms: number) => void waits.push(ms)
  await stayClearOfMidnight(Date.UTC(2026, 10, 21, 23, 59, 30), wait)
  await stayClearOfMidnight(Date.UTC(2026, 10, 21, 23, 58), wait)
  await stayClearOfMidnight(Date.UTC(2026, 10, 22), wait)
  t.strictSame(waits, [30_000])
})
