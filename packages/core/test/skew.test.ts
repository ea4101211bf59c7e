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
  t.equal(meterOf(2).before(M), 'none', 'exactly two seconds is no skew')
  t.equal(meterOf(-2).before(M), 'none', 'either way')
  t.equal(meterOf(9).before(M - 1), 'none', 'nothing received')
  t.equal(meterOf(1.9, 1.9, 1.9).before(M), 'none')
})

t.test('skew is late or early when more than half of the frames are', async t => {
  t.equal(meterOf(2.001).before(M), 'late')
  t.equal(meterOf(-2.001).before(M), 'early')
  t.equal(meterOf(3, 0).before(M), 'none')
  t.equal(meterOf(3, 0, 3).before(M), 'late')
  t.equal(meterOf(-3, 0, -3).before(M), 'early')
  t.equal(meterOf(-3, 3).before(M), 'none')
})

t.test('each minute is judged by the frames received in it', async t => {
  const meter = meterOf(0)
  meter.add(at(30), at(20))
  t.equal(meter.before(M), 'none')
  t.equal(meter.before(M + 1), 'late')
})

t.test('the last three minutes are kept, and a minute that begins again is counted afresh', async t => {
  const meter = new SkewMeter()
  for (const minute of [M, M + 1, M + 2]) meter.add(at(1, minute), at(-9, minute))
  for (const minute of [M + 1, M + 2, M + 3]) t.equal(meter.before(minute), 'late')
  meter.add(at(1, M + 3), at(-9, M + 3))
  t.equal(meter.before(M + 1), 'none', 'a fourth minute displaces the first')
  meter.add(at(1, M + 2), at(1, M + 2))
  t.equal(meter.before(M + 3), 'none', 'counted from where the clock stepped back')
})

t.test('a clock that steps back into a minute resets its counts', async t => {
  const meter = new SkewMeter()
  for (let seconds = -60; seconds < 20; seconds++) meter.add(at(seconds), at(seconds))
  meter.add(at(-40), at(20))
  t.equal(meter.before(M), 'early')
  for (const minute of [M + 1, M + 2, M + 3]) meter.add(at(1, minute), at(1, minute))
  t.equal(meter.before(M), 'none', 'and is forgotten after three minutes')
})
