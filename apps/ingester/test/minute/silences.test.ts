import { MINUTE_MS, minuteStart } from '@kimchi/core'
import { DEFAULT_COINS } from '@kimchi/simulator'
import t from 'tap'
import { openMinuteBench } from '../support/minute-bench.ts'

/** How long, in seconds, and at which second of its minute each begins: many reach into the next one. */
const SILENCES = { upbit: [4, 15, 27], binance: [4, 8, 13] } as const
const BEGINS = [0, 1, 20, 40, 50, 58]

for (const exchange of ['upbit', 'binance'] as const) {
  // docs/faults.md, 38
  t.test(`${exchange}: no sample is wrong, wherever in the minute a silence falls`, async t => {
    const { clock, simulator, samples, reports, passTo, wrong } = await openMinuteBench(t)
    simulator.faults.set({ kind: 'lag', exchange: 'upbit', maxMs: 1_550 })
    await passTo(clock.now() + 2 * MINUTE_MS)
    let minute = Math.ceil(clock.now() / MINUTE_MS)
    for (const delivery of ['late', 'never'] as const) {
      for (const seconds of SILENCES[exchange]) {
        for (const second of BEGINS) {
          await passTo(minuteStart(minute) + second * 1_000)
          simulator.faults.set({ kind: 'silence', exchange, delivery, forMs: seconds * 1_000 })
          minute += 1
        }
        minute += 1
      }
    }
    await passTo(minuteStart(minute) + 10_000)
    const differing = wrong()
    t.strictSame(differing, [])
    const gaps = reports.reduce((sum, report) => sum + report.gaps.length, 0)
    t.comment(
      `${samples.length} samples, ${differing.length} wrong; ${gaps} gaps in ${reports.length} minutes`,
    )
    t.ok(samples.length > 200 && gaps > 100, 'both happened')
  })
}

t.test('in calm minutes none is a gap, and half of them are taken by M + 2.5 s', async t => {
  const { clock, simulator, samples, reports, passTo, wrong } = await openMinuteBench(t, {
    simulated: DEFAULT_COINS,
  })
  simulator.faults.set({ kind: 'lag', exchange: 'upbit', maxMs: 1_550 })
  await passTo(clock.now() + MINUTE_MS)
  const first = reports.length
  await passTo(clock.now() + 20 * MINUTE_MS)
  const calm = reports.slice(first)
  t.ok(calm.length >= 20)
  t.strictSame(
    calm.flatMap(({ gaps }) => gaps),
    [],
  )
  t.strictSame(wrong(), [])
  const late = calm.map(report => report.lateMs).sort((a, b) => a - b)
  t.comment(
    `${samples.length} samples; taken at M + ${2_000 + (late[late.length >> 1] ?? 0)} ms (median), M + ${2_000 + (late.at(-1) ?? 0)} ms (worst)`,
  )
  t.ok((late[late.length >> 1] ?? 0) <= 500)
})
