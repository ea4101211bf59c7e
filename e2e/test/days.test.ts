import t from 'tap'
import { startDayServer } from '../src/days/redis.ts'
import { runDay } from '../src/days/run-day.ts'
import { lacksFaketime as skip } from '../src/faketime.ts'

// docs/faults.md, 1 and 112
t.test('a seed makes the same day twice, in which all is true', { skip }, async t => {
  // Shortly after midnight, so that backfill has little of today to fill first.
  const day = { startAt: Date.parse('2026-11-30T00:10:00Z'), server: await startDayServer(t) }
  const run = () => runDay({ ...day, seed: 2, minutes: 20 })
  const [first, second] = [await run(), await run()]
  t.strictSame(first.findings, [])
  t.ok(
    first.events.some(({ what }) => what.includes(' begins: ')),
    'faults came',
  )
  t.ok(first.counts.values > 100, 'callers got values')
  t.equal(second.digest, first.digest)
})
