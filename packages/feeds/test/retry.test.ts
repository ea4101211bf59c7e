import { createMemoryLog } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t from 'tap'
import { httpErrorOf } from '../src/http-error.ts'
import { Retry } from '../src/retry.ts'
import { delayAfter } from './harness.ts'

function refused(status: number, retryAfterMs?: number) {
  return httpErrorOf('binance', 'handshake', status, retryAfterMs)
}

t.test('the wait doubles from half a second to half a minute, less up to a random half', async t => {
  const delays = (random: number) => [0, 1, 2, 5, 6, 100].map(failures => delayAfter(failures, random))
  t.strictSame(delays(0), [250, 500, 1_000, 8_000, 15_000, 15_000])
  t.strictSame(delays(0.999_999).map(Math.round), [500, 1_000, 2_000, 16_000, 30_000, 30_000])
})

t.test('the next attempt comes no earlier than the time an exchange names', async t => {
  t.equal(delayAfter(0, 0, refused(429, 7_000)), 7_000)
  t.equal(Math.round(delayAfter(0, 1, refused(418, 120_000))), 132_000)
  t.equal(delayAfter(9, 0, refused(429, 0)), 15_000, 'a time of zero does not undo the backoff')
})

// docs/faults.md, 102
t.test('a long stated wait is late by half a minute at most', async t => {
  t.equal(Math.round(delayAfter(0, 1, refused(418, 28_800_000))), 28_830_000)
})

t.test('of ten failures in a row the first and the last get a line', async t => {
  const { retry, clock, log } = createRetry()
  for (let count = 0; count < 10; count++) {
    void retry.wait(new Error('no answer'), 'it did not work')
    await clock.advance(30_000)
  }
  const failures = log.lines.map(({ message, fields }) => [message, fields.failures, fields.delayMs])
  t.strictSame(failures, [
    ['it did not work', 1, 500],
    ['it did not work', 10, 30_000],
  ])
})

t.test('nothing that fails after the end is counted, logged or waited for', async t => {
  const { retry, ending, log, clock } = createRetry()
  const waiting = retry.wait(new Error('no answer'), 'it did not work')
  ending.abort()
  await waiting
  await retry.wait(new Error('aborted'), 'it did not work')
  t.strictSame([retry.failures, log.lines.length, clock.waiting], [1, 1, 0])
})

function createRetry() {
  const clock = createManualClock(0)
  const log = createMemoryLog()
  const ending = new AbortController()
  const retry = new Retry({ clock, log, random: () => 1, signal: ending.signal })
  return { retry, clock, log, ending }
}
