import t from 'tap'
import { SkewMeter } from '../src/skew.ts'
import { at, M } from './ticks.ts'

/** A meter of frames received at M − 30 s, each so many seconds after it was sent. */
function meterOf(...lags: readonly number[]) {
  const meter = new SkewMeter()
  for (const lag of lags) meter.add(at(-30), at(-30 - lag))
  return meter
}

t.test('there is no skew while most frames are within two seconds', async t => {
  t.notOk(meterOf(2).skewedBefore(M), 'exactly two seconds is no skew')
  t.notOk(meterOf(-2).skewedBefore(M), 'either way')
  t.notOk(meterOf(9).skewedBefore(M - 1), 'nothing received')
  t.notOk(meterOf(1.9, 1.9, 1.9).skewedBefore(M))
})

t.test('there is skew when more than half of the frames are late, or early', async t => {
  t.ok(meterOf(2.001).skewedBefore(M))
  t.ok(meterOf(-2.001).skewedBefore(M))
  t.notOk(meterOf(3, 0).skewedBefore(M))
  t.ok(meterOf(3, 0, 3).skewedBefore(M))
  t.ok(meterOf(-3, 0, -3).skewedBefore(M))
  t.notOk(meterOf(-3, 3).skewedBefore(M))
})

t.test('the last three minutes are kept, and a minute that begins again is counted afresh', async t => {
  const meter = new SkewMeter()
  for (const minute of [M, M + 1, M + 2]) meter.add(at(1, minute), at(-9, minute))
  for (const minute of [M + 1, M + 2, M + 3]) t.ok(meter.skewedBefore(minute))
  meter.add(at(1, M + 3), at(-9, M + 3))
  t.notOk(meter.skewedBefore(M + 1), 'a fourth minute displaces the first')
  meter.add(at(1, M + 2), at(1, M + 2))
  t.notOk(meter.skewedBefore(M + 3), 'counted from where the clock stepped back')
})
