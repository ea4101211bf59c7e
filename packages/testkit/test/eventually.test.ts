import { createManualClock } from '@kimchi/core/testing'
import t from 'tap'
import { eventually, passUntil } from '../src/eventually.ts'

t.test('asks until there is an answer, and names what did not come in time', async t => {
  let asked = 0
  t.equal(await eventually('a number', () => (++asked < 3 ? undefined : asked)), 3)
  t.equal(await eventually('zero', async () => 0), 0, 'every value but undefined and false is an answer')
  await t.rejects(
    eventually('a miracle', () => false, 20),
    { message: 'not within 20 ms: a miracle' },
  )
})

t.test('lets a manual clock run only while something waits for it', async t => {
  const clock = createManualClock(0)
  let isDone = false
  void clock.wait(1_000).then(() => {
    isDone = true
  })
  await passUntil(clock, 'the wait is over', () => isDone)
  t.equal(clock.now(), 1_000)
})
