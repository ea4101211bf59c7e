import { createManualClock } from '@kimchi/core/testing'
import t from 'tap'
import { createConnectionBudget, isBlocked, retryDelay } from '../../src/feed/backoff.ts'
import { httpErrorOf } from '../../src/feed/http-error.ts'
import { AT } from '../harness.ts'

function refused(status: number, retryAfterMs?: number) {
  return httpErrorOf('binance', 'handshake', status, retryAfterMs)
}

t.test('the wait doubles from half a second to half a minute, less up to a random half', async t => {
  const delays = (random: number) => [0, 1, 2, 5, 6, 100].map(attempt => retryDelay(attempt, () => random))
  t.strictSame(delays(0), [250, 500, 1_000, 8_000, 15_000, 15_000])
  t.strictSame(delays(0.999_999).map(Math.round), [500, 1_000, 2_000, 16_000, 30_000, 30_000])
})

t.test('the next attempt comes no earlier than the time an exchange names', async t => {
  t.equal(
    retryDelay(0, () => 0, refused(429, 7_000)),
    7_000,
  )
  t.equal(Math.round(retryDelay(0, () => 1, refused(418, 120_000))), 132_000)
  t.equal(
    retryDelay(9, () => 0, refused(429, 0)),
    15_000,
    'a time of zero does not undo the backoff',
  )
})

t.test('after a refusal without a time the wait depends on its status', async t => {
  const delayOf = (status: number) => retryDelay(0, () => 0, refused(status))
  t.strictSame([429, 418, 403, 451, 503].map(delayOf), [250, 300_000, 250, 600_000, 250])
})

t.test('only 418 and 451 count as blocked', async t => {
  t.strictSame(
    [403, 418, 451, 429, 503, 302].map(status => isBlocked(refused(status))),
    [false, true, true, false, false, false],
  )
  t.equal(isBlocked(new Error('451')), false)
})

t.test('the 21st connection waits until the first is five minutes old', async t => {
  const clock = createManualClock(AT)
  const spend = createConnectionBudget({ clock, signal: new AbortController().signal })
  for (let spent = 0; spent < 20; spent++) await spend()
  let isSpent = false
  const waiting = spend().then(() => {
    isSpent = true
  })
  await clock.advance(299_999)
  t.notOk(isSpent)
  await clock.advance(1)
  await waiting
  t.ok(isSpent)
})
