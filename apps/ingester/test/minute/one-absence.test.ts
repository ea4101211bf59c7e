import { MINUTE_MS } from '@kimchi/core'
import t from 'tap'
import { openMinuteBench } from '../support/minute-bench.ts'

// docs/faults.md, 59
t.test('one status answer that leaves out a quiet market halts nothing', async t => {
  const { clock, simulator, reports, passTo } = await openMinuteBench(t)
  await passTo(clock.now() + 2 * MINUTE_MS)
  const before = reports.length
  simulator.faults.set({
    kind: 'rest',
    exchange: 'binance',
    mode: 'omit',
    without: 'KNCUSDT',
    path: '/api/v3/ticker/price',
    frames: 1,
  })
  simulator.faults.set({ kind: 'silence', exchange: 'binance', market: 'KNCUSDT' })
  await passTo(clock.now() + 3 * MINUTE_MS)
  const halted = reports.slice(before).flatMap(({ gaps }) => gaps.filter(gap => /halt/.test(gap.reason)))
  t.strictSame(halted, [])
  t.notOk(
    simulator.faults.list().some(({ fault }) => fault.kind === 'rest'),
    'the answer was asked for',
  )
})
