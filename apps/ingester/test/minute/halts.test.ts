import { MINUTE_MS, minuteStart } from '@kimchi/core'
import t from 'tap'
import { openMinuteBench } from '../support/minute-bench.ts'

for (const [exchange, market] of [
  ['upbit', 'KRW-SOL'],
  ['binance', 'SOLUSDT'],
] as const) {
  // docs/faults.md, 39
  t.test(
    `${exchange}: a halt is known within 120 s and its end within 150 s, whenever it begins`,
    async t => {
      const { clock, simulator, reports, passTo } = await openMinuteBench(t)
      await passTo(clock.now() + 2 * MINUTE_MS)
      let minute = Math.ceil(clock.now() / MINUTE_MS)
      const worst = { offMs: 0, backMs: 0 }
      const isHalted = () => reports.at(-1)?.gaps.some(({ reason }) => reason.startsWith('halt')) === true
      /** Milliseconds until the minute loop says so. */
      const until = async (halted: boolean) => {
        const from = clock.now()
        while (isHalted() !== halted && clock.now() < from + 4 * MINUTE_MS) await passTo(clock.now() + 200)
        return clock.now() - from
      }
      for (let second = 0; second < 60; second += 20) {
        await passTo(minuteStart(minute) + second * 1_000)
        const resume = simulator.faults.set({ kind: 'halt', exchange, market })
        worst.offMs = Math.max(worst.offMs, await until(true))
        resume()
        worst.backMs = Math.max(worst.backMs, await until(false))
        minute = Math.ceil(clock.now() / MINUTE_MS)
      }
      t.comment(`off after ${worst.offMs / 1_000} s, back after ${worst.backMs / 1_000} s at the worst`)
      t.ok(worst.offMs <= 120_000)
      t.ok(worst.backMs <= 150_000)
      t.strictSame([...new Set(reports.flatMap(({ gaps }) => gaps.map(({ symbol }) => symbol)))], ['SOL'])
    },
  )
}
