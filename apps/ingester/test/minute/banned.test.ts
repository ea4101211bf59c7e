import { MINUTE_MS } from '@kimchi/core'
import t from 'tap'
import { openMinuteBench } from '../support/minute-bench.ts'

// docs/faults.md, 102
t.test('while Binance bans REST for three days, every live minute is complete', async t => {
  const { clock, simulator, samples, reports, passTo, wrong } = await openMinuteBench(t)
  await passTo(clock.now() + 2 * MINUTE_MS)
  const before = reports.length
  const ban = { status: 418, on: 'rest', retryAfter: 259_200 } as const
  simulator.faults.set({ kind: 'refuse', exchange: 'binance', ...ban })
  await passTo(clock.now() + 10 * MINUTE_MS)
  const gaps = reports.slice(before).flatMap(report => report.gaps)
  t.strictSame(gaps, [])
  t.equal(reports.length - before, 10)
  t.ok(samples.length > 0)
  t.strictSame(wrong(), [])
})
