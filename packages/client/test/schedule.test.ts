import t from 'tap'
import { waitAfterAnswer } from '../src/schedule.ts'

const seconds = (now: number) =>
  waitAfterAnswer({ updatedAt: 0, now: now * 1_000, isUnchanged: true }, () => 0) / 1_000

t.test('a list that is asked for twice in its minute, and a clock that lags, change no wait', async t => {
  t.equal(seconds(30), 35)
  t.equal(seconds(-3_600), 70)
})
