import t from 'tap'
import { startDayServer } from '../src/days/redis.ts'
import { runDay } from '../src/days/run-day.ts'
import { lacksFaketime as skip } from '../src/faketime.ts'

// docs/faults.md, 112
t.test('a seed makes the same day twice, in which all is true', { skip }, async t => {
  const server = await startDayServer(t)
  const [first, second] = [
    await runDay({ seed: 1, minutes: 30, server }),
    await runDay({ seed: 1, minutes: 30, server }),
  ]
  t.strictSame(first.findings, [])
  t.ok(
    first.events.some(({ what }) => what.endsWith('begins')),
    'faults came',
  )
  t.ok(first.counts.values > 100, 'callers got values')
  t.equal(second.digest, first.digest)
  const other = await runDay({ seed: 2, minutes: 5, server })
  t.not(other.digest, first.digest)
})
