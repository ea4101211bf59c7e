import t from 'tap'
import { httpErrorOf } from '../src/http-error.ts'
import { isBlocked, retryDelay } from '../src/retry-delay.ts'

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

// docs/faults.md, 102
t.test('a long stated wait is late by half a minute at most', async t => {
  t.equal(Math.round(retryDelay(0, () => 1, refused(418, 28_800_000))), 28_830_000)
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
