import { MINUTE_MS, minuteStart } from '@kimchi/core'
import t from 'tap'
import { openMinuteBench } from '../support/minute-bench.ts'

// docs/faults.md, 38
t.test('no price of a connection that stopped counts once its successor brings data', async t => {
  const { clock, simulator, samples, passTo, wrong } = await openMinuteBench(t)
  await passTo(clock.now() + 2 * MINUTE_MS)
  let minute = Math.ceil(clock.now() / MINUTE_MS)
  for (let second = 12; second < 60; second += 8) {
    await passTo(minuteStart(minute) + second * 1_000)
    simulator.faults.set({ kind: 'shutdown', exchange: 'binance' })
    await passTo(clock.now() + 200)
    // The old connection stays open and says nothing more.
    simulator.faults.set({ kind: 'half-open', exchange: 'binance', forMs: 20_000 })
    minute += 2
  }
  await passTo(minuteStart(minute) + 10_000)
  t.strictSame(wrong(), [])
  t.ok(samples.length > 100)
})
