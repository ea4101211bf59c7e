import { getEventListeners } from 'node:events'
import t from 'tap'
import { createManualClock } from '../src/testing.ts'

t.test('waits end in the order in which they are due, each at its own time', async t => {
  const clock = createManualClock(0)
  const ended: [string, number][] = []
  const wait = (name: string, ms: number) => clock.wait(ms).then(() => void ended.push([name, clock.now()]))
  wait('late', 300)
  wait('soon', 100)
  wait('at once', -5)
  wait('never', 301)
  t.equal(clock.waiting, 4)
  await clock.advance(300)
  t.strictSame(ended, [
    ['at once', 0],
    ['soon', 100],
    ['late', 300],
  ])
  t.equal(clock.waiting, 1)
})

t.test('stepping the wall clock lets no time pass', async t => {
  const clock = createManualClock(0)
  let isOver = false
  const waiting = clock.wait(1_000).then(() => {
    isOver = true
  })
  clock.step(3_600_000)
  await clock.advance(999)
  t.equal(isOver, false)
  clock.step(-7_200_000)
  await clock.advance(1)
  await waiting
  t.equal(clock.now(), 1_000 - 3_600_000)
})

t.test('a wait ends early when its signal aborts, and leaves no listener behind', async t => {
  const clock = createManualClock(0)
  const controller = new AbortController()
  const { signal } = controller
  const short = clock.wait(1, signal)
  await clock.advance(1)
  await short
  t.equal(getEventListeners(signal, 'abort').length, 0)
  const long = clock.wait(1_000, signal)
  controller.abort()
  await long
  await clock.wait(1_000, signal)
  t.equal(clock.waiting, 0)
  t.equal(getEventListeners(signal, 'abort').length, 0)
  t.equal(clock.now(), 1)
})

t.test('a pause lets time pass by both clocks, and ends no wait by itself', async t => {
  const clock = createManualClock(1_000)
  let isOver = false
  clock.wait(100).then(() => {
    isOver = true
  })
  clock.pause(2_000)
  await undefined
  t.strictSame([clock.now(), clock.elapsed(), isOver], [3_000, 2_000, false])
  await clock.advance(0)
  t.ok(isOver)
  clock.step(-500)
  t.strictSame([clock.now(), clock.elapsed()], [2_500, 2_000])
})

t.test('nothing seems to wait for a clock that is held', async t => {
  const clock = createManualClock(0)
  void clock.wait(100)
  const held = clock.hold(new Promise<string>(resolve => setImmediate(resolve, 'done')))
  t.equal(clock.waiting, 0)
  t.equal(await held, 'done')
  t.equal(clock.waiting, 1)
})
