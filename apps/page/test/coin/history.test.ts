import { ApiError, type History } from '@kimchi/client'
import t from 'tap'
import { afterAnswer, afterFailure, isDue, type KnownHistory } from '../../src/coin/history.ts'
import { historyOf } from '../answers.ts'

const MINUTE = 60_000
const NOON = Date.UTC(2026, 10, 21, 12)
const minuteOf = (ms: number) => new Date(ms).toISOString().slice(0, 19)

/** A coin's view on a clock that the test sets; the live list has a new minute each minute. */
function open(answer: (days: number, now: number) => History | ApiError) {
  let now = NOON
  let asked = 0
  let range = 0
  let known: KnownHistory = {}
  const follow = (minute: string | undefined) => {
    if (!isDue(known, { range, minute })) return
    asked += 1
    const answered = answer(range, now)
    known =
      answered instanceof ApiError
        ? afterFailure(known, { range, minute }, answered)
        : afterAnswer({ range, minute }, answered)
  }
  const pass = (minutes: number, isDown = false) => {
    const before = asked
    for (let minute = 0; minute < minutes; minute += 1) {
      now += MINUTE
      follow(isDown ? undefined : minuteOf(now))
    }
    return asked - before
  }
  const show = (days = 90) => {
    range = days
    follow(minuteOf(now))
  }
  return { show, pass, known: () => known, asked: () => asked }
}

const whole = (days: number, now: number, total = 400) =>
  historyOf('BTC', 'Bitcoin', minuteOf(now), Math.min(days, total))
const error = (code: 'unknown_symbol' | 'not_ready' | 'unreachable') => new ApiError(code, { code })

t.test('asks again at each new minute, and at once for other days', async t => {
  const { show, pass, asked } = open(days => whole(days, NOON))
  show()
  t.equal(asked(), 1)
  t.equal(pass(150), 150)
  show()
  t.equal(asked(), 151, 'these days are already known')
  show(30)
  t.equal(asked(), 152)
})

t.test('asks again for a history that could not be loaded when the list answers', async t => {
  let answer: History | ApiError = error('not_ready')
  const { show, pass, known } = open(() => answer)
  show()
  t.equal(known().error?.code, 'not_ready')
  answer = whole(90, NOON)
  t.equal(pass(3, true), 0, 'the list does not answer')
  t.equal(pass(1), 1)
  t.match(known(), { error: undefined, history: { count: 90 } })
})

t.test('a failure keeps the days on screen, but none of a coin that is gone', async t => {
  for (const [code, history] of [
    ['unreachable', { count: 90 }],
    ['unknown_symbol', undefined],
  ] as const) {
    let isFailing = false
    const { show, pass, known } = open(days => (isFailing ? error(code) : whole(days, NOON)))
    show()
    isFailing = true
    pass(1)
    t.match(known(), { error: { code }, history })
  }
})

t.test('names the minute of today’s row', async t => {
  const { show, pass, known } = open(days => whole(days, NOON))
  show()
  t.equal(known().history?.asOf, minuteOf(NOON))
  pass(45)
  t.equal(known().history?.asOf, minuteOf(NOON + 45 * MINUTE))
})
