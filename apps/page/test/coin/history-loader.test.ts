import { ApiError, type History } from '@kimchi/client'
import t from 'tap'
import { HistoryLoader, type KnownHistory } from '../../src/coin/history-loader.ts'
import { Shelf } from '../../src/storage.ts'
import { historyOf } from '../answers.ts'

const MINUTE = 60_000
const NOON = Date.UTC(2026, 10, 21, 12)
const minuteOf = (ms: number) => new Date(ms).toISOString().slice(0, 19)

/** A coin's view on a clock that the test sets; the live list has a new minute each minute. */
function open(answer: (days: number, now: number) => History | ApiError) {
  let now = NOON
  let asked = 0
  let known: KnownHistory = { isOld: false }
  const loader = new HistoryLoader({
    client: {
      daily: async (_symbol, { days = 365 } = {}) => {
        asked += 1
        const answered = answer(days, now)
        if (answered instanceof ApiError) throw answered
        return answered
      },
    },
    shelf: new Shelf(() => ({ getItem: () => null, setItem: () => {} })),
    symbol: 'BTC',
    now: () => now,
    onChange: next => {
      known = next
    },
  })
  const settle = () => new Promise(resolve => setImmediate(resolve))
  const pass = async (minutes: number, isDown = false) => {
    const before = asked
    for (let minute = 0; minute < minutes; minute += 1) {
      now += MINUTE
      loader.onMinute(isDown ? undefined : minuteOf(now))
      await settle()
    }
    return asked - before
  }
  const start = async (range = 90) => {
    loader.onMinute(minuteOf(now))
    loader.load(range)
    await settle()
  }
  return { loader, start, pass, settle, known: () => known, asked: () => asked }
}

const whole = (days: number, now: number, total = 400) =>
  historyOf('BTC', 'Bitcoin', minuteOf(now), Math.min(days, total))
const error = (code: 'unknown_symbol' | 'not_ready' | 'unreachable') => new ApiError(code, { code })

t.test('asks again at each new minute for 30 minutes, then once an hour', async t => {
  const { start, pass, asked } = open(days => whole(days, NOON))
  await start()
  t.equal(asked(), 1)
  t.equal(await pass(29), 29)
  t.equal(await pass(120), 2)
})

t.test('asks each minute for as long as closed days gain samples', async t => {
  let samples = 100
  const { start, pass } = open(days => {
    samples += 1
    const { data, ...rest } = whole(days, NOON)
    return {
      ...rest,
      data: data.map((day, index) => (index === 0 ? { ...day, samples } : day)),
    }
  })
  await start()
  t.equal(await pass(90), 90)
})

t.test('asks each minute for as long as days are added', async t => {
  let days = 1
  const { start, pass, known } = open(() => {
    days = Math.min(days + 1, 60)
    return whole(days, NOON)
  })
  await start()
  t.equal(await pass(60), 59)
  t.equal(known().history?.count, 60)
  t.equal(await pass(58), 0, 'it has not grown any more')
})

t.test('asks for a new day, however recent the last answer', async t => {
  const { start, pass } = open(days => whole(days, NOON))
  await start()
  await pass(11 * 60 + 55)
  t.equal(await pass(10), 1)
})

t.test('asks again for a history that could not be loaded when the list answers', async t => {
  let answer: History | ApiError = error('not_ready')
  const { start, pass, known } = open(() => answer)
  await start()
  t.equal(known().error?.code, 'not_ready')
  answer = whole(90, NOON)
  t.equal(await pass(3, true), 0, 'the list does not answer')
  t.equal(await pass(1), 1)
  t.match(known(), { error: undefined, isOld: false, history: { count: 90 } })
})

t.test('finds a coin as soon as it is tracked', async t => {
  let answer: History | ApiError = error('unknown_symbol')
  const { start, pass, known } = open(() => answer)
  await start()
  await pass(40)
  answer = whole(90, NOON)
  await pass(1)
  t.equal(known().error, undefined)
})

t.test('a failure keeps the days on screen, and says that they are old', async t => {
  let isDown = false
  const { start, pass, known } = open(days => (isDown ? error('unreachable') : whole(days, NOON)))
  await start()
  isDown = true
  await pass(1)
  t.match(known(), { isOld: true, error: { code: 'unreachable' }, history: { count: 90 } })
})

t.test('knows how many days there are once it has asked for more', async t => {
  const { loader, start, settle, known } = open(days => whole(days, NOON, 8))
  await start(7)
  t.equal(known().total, undefined)
  loader.load(90)
  await settle()
  t.equal(known().total, 8)
  loader.load(7)
  await settle()
  t.equal(known().total, 8, 'and remembers it')
})

t.test('names the minute of today’s row', async t => {
  const { start, pass, known } = open(days => whole(days, NOON))
  await start()
  t.equal(known().asOf, minuteOf(NOON))
  await pass(45)
  t.equal(known().asOf, minuteOf(NOON + 30 * MINUTE - MINUTE))
})
