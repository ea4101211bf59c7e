import t from 'tap'
import { SkewMeter } from '../src/skew.ts'
import { at, upbitTick } from './ticks.ts'

/** What the last of some frames shows, received at M − 30 s, each so many seconds after it was sent. */
function isSkewed(...lags: readonly number[]) {
  const meter = new SkewMeter()
  const judged = lags.map(lag => meter.judge(upbitTick('KRW-BTC', 1, at(-30 - lag), { receivedAt: at(-30) })))
  return judged.at(-1)?.isSkewed
}

t.test('there is no skew while most frames are within two seconds', async t => {
  t.equal(isSkewed(2), false, 'exactly two seconds is no skew')
  t.equal(isSkewed(-2), false, 'either way')
  t.equal(isSkewed(1.9, 1.9, 1.9), false)
})

t.test('there is skew when more than half of the frames are late, or early', async t => {
  t.equal(isSkewed(2.001), true)
  t.equal(isSkewed(-2.001), true)
  t.equal(isSkewed(3, 0), false)
  t.equal(isSkewed(3, 0, 3), true)
  t.equal(isSkewed(-3, 0, -3), true)
  t.equal(isSkewed(-3, 3), false)
})
