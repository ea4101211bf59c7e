import { MINUTE_MS, minuteStart } from '@kimchi/core'
import t from 'tap'
import { openMinuteBench } from '../support/minute-bench.ts'

/** At which second of its minute each begins: some just before a snapshot, some just after. */
const BEGINS = [0, 1, 20, 50, 58, 59]

// docs/faults.md, 23
t.test('no sample is wrong, wherever in the minute our clock steps, and back', async t => {
  const { clock, simulator, samples, passTo, wrong, setOurs } = await openMinuteBench(t)
  simulator.faults.set({ kind: 'lag', exchange: 'upbit', maxMs: 1_550 })
  await passTo(clock.now() + 2 * MINUTE_MS)
  let minute = Math.ceil(clock.now() / MINUTE_MS)
  for (const stepMs of [-90_000, -3_000, -1_000, 1_000, 3_000, 10_000, 90_000]) {
    for (const second of BEGINS) {
      await passTo(minuteStart(minute) + second * 1_000)
      setOurs(stepMs)
      await passTo(clock.now() + 70_000)
      setOurs(0)
      minute += 4
    }
  }
  await passTo(minuteStart(minute) + 10_000)
  t.strictSame(wrong(), [])
  t.ok(samples.length > 500, `${samples.length} samples`)
})

// docs/faults.md, 24
t.test('no sample is wrong, wherever in the minute the process pauses', async t => {
  const { clock, simulator, samples, passTo, wrong } = await openMinuteBench(t)
  simulator.faults.set({ kind: 'lag', exchange: 'upbit', maxMs: 1_550 })
  await passTo(clock.now() + 2 * MINUTE_MS)
  let minute = Math.ceil(clock.now() / MINUTE_MS)
  for (const pauseMs of [400, 2_400, 5_000, 20_000, 90_000]) {
    for (const second of BEGINS) {
      await passTo(minuteStart(minute) + second * 1_000)
      clock.pause(pauseMs)
      minute += 4
    }
  }
  await passTo(minuteStart(minute) + 10_000)
  t.strictSame(wrong(), [])
  t.ok(samples.length > 500, `${samples.length} samples`)
})
