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
  let known: KnownHistory = { changedAt: NOON }
  const follow = (minute: string | undefined) => {
    if (!isDue(known, { range, minute }, now)) return
    asked += 1
    const answered = answer(range, now)
    known =
      answered instanceof ApiError
        ? afterFailure(known, { range, minute }, answered, undefined)
        : afterAnswer(known, { range, minute }, answered, now)
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

t.test('asks again at each new minute for 30 minutes, then once an hour', async t => {
  const { show, pass, asked } = open(days => whole(days, NOON))
  show()
  t.equal(asked(), 1)
  t.equal(pass(29), 29)
  t.equal(pass(120), 2)
})

t.test('asks each minute for as long as closed days gain samples', async t => {
  let samples = 100
  const { show, pass } = open(days => {
    samples += 1
    const { data, ...rest } = whole(days, NOON)
    return {
      ...rest,
      data: data.map((day, index) => (index === 0 ? { ...day, samples } : day)),
    }
  })
  show()
  t.equal(pass(90), 90)
})

t.test('asks each minute until 30 minutes after days were added', async t => {
  let days = 1
  const { show, pass, known } = open(() => {
    days = Math.min(days + 1, 60)
    return whole(days, NOON)
  })
  show()
  t.equal(pass(58), 58)
  t.equal(known().history?.count, 60)
  t.equal(pass(29), 29)
  t.equal(pass(32), 0, 'it has not grown any more')
})

t.test('asks for a new day, however recent the last answer', async t => {
  const { show, pass } = open(days => whole(days, NOON))
  show()
  pass(11 * 60 + 55)
  t.equal(pass(10), 1)
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

t.test('finds a coin as soon as it is tracked', async t => {
  let answer: History | ApiError = error('unknown_symbol')
  const { show, pass, known } = open(() => answer)
  show()
  pass(40)
  answer = whole(90, NOON)
  pass(1)
  t.equal(known().error, undefined)
})

t.test('a failure keeps the days on screen, and says that they are old', async t => {
  let isDown = false
  const { show, pass, known } = open(days => (isDown ? error('unreachable') : whole(days, NOON)))
  show()
  isDown = true
  pass(1)
  t.match(known(), { error: { code: 'unreachable' }, history: { count: 90 } })
})

t.test('knows how many days there are once it has asked for more', async t => {
  const { show, known } = open(days => whole(days, NOON, 8))
  show(7)
  t.equal(known().total, undefined)
  show(90)
  t.equal(known().total, 8)
  show(7)
  t.equal(known().total, 8, 'and remembers it')
})

t.test('names the minute of today’s row', async t => {
  const { show, pass, known } = open(days => whole(days, NOON))
  show()
  t.equal(known().asOf, minuteOf(NOON))
  pass(45)
  t.equal(known().asOf, minuteOf(NOON + 30 * MINUTE - MINUTE))
})

t.test(
  'without an answer the days of an earlier visit are shown, but none of a coin that is gone',
  async t => {
    const kept = whole(30, NOON)
    const after = (code: 'unreachable' | 'unknown_symbol') =>
      afterFailure({ changedAt: NOON }, { range: 90 }, error(code), kept)
    t.match(after('unreachable'), { history: kept, error: { code: 'unreachable' } })
    t.equal(after('unknown_symbol').history, undefined)
  },
)
