import { MINUTE_MS } from '@kimchi/core'
import t from 'tap'
import { openMinuteBench } from '../support/minute-bench.ts'

// docs/faults.md, 59
t.test('one status answer that leaves out a market that trades costs no minute', async t => {
  const { clock, simulator, samples, reports, passTo, wrong } = await openMinuteBench(t)
  await passTo(clock.now() + 2 * MINUTE_MS)
  const before = reports.length
  simulator.faults.set({
    kind: 'rest',
    exchange: 'binance',
    mode: 'omit',
    without: 'ETHUSDT',
    path: '/api/v3/ticker/price',
    frames: 1,
  })
  await passTo(clock.now() + 3 * MINUTE_MS)
  t.ok(reports.length > before + 1)
  t.strictSame(
    reports.slice(before).flatMap(({ gaps }) => gaps),
    [],
  )
  t.ok(samples.length > 0)
  t.strictSame(wrong(), [])
  t.equal(simulator.faults.list().length, 0, 'the answer was asked for')
})

// docs/faults.md, 59
t.test('a market state that nobody knows halts nothing', async t => {
  const { clock, simulator, reports, passTo } = await openMinuteBench(t)
  await passTo(clock.now() + 2 * MINUTE_MS)
  const before = reports.length
  simulator.faults.set({ kind: 'state', exchange: 'upbit', market: 'KRW-XRP', state: 'CAUTION' })
  await passTo(clock.now() + 3 * MINUTE_MS)
  t.strictSame(
    reports.slice(before).flatMap(({ gaps }) => gaps),
    [],
  )
})
