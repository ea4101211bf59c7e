import { HOUR_MS, MINUTE_MS, minuteOf, minuteStart } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import t, { type Test } from 'tap'
import { type MinuteTurn, minuteTurns } from '../../src/minute/minute-turns.ts'

const MIDNIGHT = Date.UTC(2026, 10, 20)

function collect(t: Test, startedAt: number, isComplete = (_minute: number, _now: number) => true) {
  const clock = createManualClock(startedAt)
  const ending = new AbortController()
  const turns: (MinuteTurn & { at: number })[] = []
  const running = (async () => {
    const { signal } = ending
    const latest = { havePassed: (minute: number) => isComplete(minute, clock.now()) }
    for await (const turn of minuteTurns(latest, { clock, signal })) {
      turns.push({ ...turn, at: clock.now() })
    }
  })()
  t.teardown(async () => {
    ending.abort()
    await running
  })
  return { clock, turns, ending, running }
}

t.test('each minute turns once, two seconds after its boundary', async t => {
  const { clock, turns } = collect(t, MIDNIGHT + 30_000)
  await clock.advance(3 * MINUTE_MS)
  t.strictSame(
    turns.map(turn => turn.at - MIDNIGHT),
    [62_000, 122_000, 182_000],
  )
  t.strictSame(
    turns.map(({ minute, lateMs }) => [minute - minuteOf(MIDNIGHT), lateMs]),
    [1, 2, 3].map(minute => [minute, 0]),
  )
})

t.test('a minute that is not complete waits until it is, for three seconds at most', async t => {
  const completeAt = new Map(
    [1, 2, 3].map((minute, at) => [minuteOf(MIDNIGHT) + minute, [2_700, 5_100, 0][at]]),
  )
  const { clock, turns } = collect(
    t,
    MIDNIGHT + 30_000,
    (minute, now) => now >= minuteStart(minute) + (completeAt.get(minute) ?? 0),
  )
  await clock.advance(3 * MINUTE_MS)
  t.strictSame(
    turns.map(({ at, lateMs }) => [at - MIDNIGHT, lateMs]),
    [
      [62_700, 700],
      [125_000, 3_000],
      [182_000, 0],
    ],
  )
})

t.test('a start within the first seconds still gets the minute that has just ended', async t => {
  const { clock, turns } = collect(t, MIDNIGHT + 400)
  await clock.advance(2_000)
  t.equal(turns[0]?.minute, minuteOf(MIDNIGHT))
})

t.test('a clock that steps forward an hour passes over the minutes in between', async t => {
  const { clock, turns } = collect(t, MIDNIGHT + 30_000)
  await clock.advance(MINUTE_MS)
  clock.step(HOUR_MS)
  await clock.advance(MINUTE_MS)
  t.equal(turns.length, 3)
  t.strictSame(
    turns.map(({ minute }) => minute - minuteOf(MIDNIGHT)),
    [1, 61, 62],
  )
})

t.test('a clock that steps back 90 s goes on from where it stands', async t => {
  const { clock, turns } = collect(t, MIDNIGHT + 30_000)
  await clock.advance(3 * MINUTE_MS)
  clock.step(-90_000)
  await clock.advance(2.5 * MINUTE_MS)
  t.match(
    turns.map(turn => turn.minute - minuteOf(MIDNIGHT)),
    [1, 2, 3, 2, 3, 4],
    'a minute that comes again is written again, which the store takes once',
  )
})

t.test('ends at once when aborted in the middle of a minute, or of the wait for its streams', async t => {
  for (const passedMs of [5_000, 32_500]) {
    const { clock, ending, running, turns } = collect(t, MIDNIGHT + 30_000, () => false)
    await clock.advance(passedMs)
    ending.abort()
    await running
    t.equal(turns.length, 0)
    t.equal(clock.waiting, 0, 'no timer is left')
  }
})
