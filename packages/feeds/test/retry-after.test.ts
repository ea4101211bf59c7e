import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { httpErrorOf } from '../src/http-error.ts'
import { statedWait } from '../src/retry-after.ts'
import { delayAfter } from './harness.ts'
import { retryAfterCases } from './retry-after-cases.ts'

const NOW = Date.UTC(2026, 10, 6, 12)
const THREE_DAYS = 3 * 86_400

function secondsOf(status: number, header: string | undefined, body?: string): number | undefined {
  const ms = statedWait({ status, header, ...(body === undefined ? {} : { body }) }, NOW)
  return ms === undefined ? undefined : ms / 1_000
}

// docs/faults.md, 102
t.test('Retry-After is seconds, a time or a date of HTTP, and nothing else', async t => {
  for (const [header, seconds] of retryAfterCases(NOW))
    t.equal(secondsOf(429, header), seconds, `"${header}"`)
  t.equal(secondsOf(429, undefined), undefined)
})

// docs/faults.md, 102
t.test('more than two minutes are believed of 429 and 418 alone, and no more than three days', async t => {
  for (const status of [403, 451, 500, 503]) t.equal(secondsOf(status, '28800'), undefined, `${status}`)
  t.equal(secondsOf(503, '120'), 120)
  for (const status of [418, 429]) {
    t.equal(secondsOf(status, '28800'), 28_800)
    t.equal(secondsOf(status, `${THREE_DAYS}`), THREE_DAYS)
    t.equal(secondsOf(status, `${THREE_DAYS + 1}`), undefined)
  }
})

// docs/faults.md, 102
t.test('the end that Binance writes into a 418 counts as stated', async t => {
  const body = (at: number) =>
    `{"code":-1003,"msg":"Way too much request weight used; IP banned until ${at}. Use streams"}`
  t.equal(secondsOf(418, undefined, body(NOW + 900_000)), 900)
  t.equal(secondsOf(418, '600', body(NOW + 900_000)), 900, 'the later one')
  t.equal(secondsOf(418, '1200', body(NOW + 900_000)), 1_200)
  t.equal(secondsOf(418, undefined, body(NOW - 1)), undefined)
  t.equal(secondsOf(418, '0', body(NOW + 4 * 86_400_000)), undefined)
})

const CASES = new URL('../../../../shared/cases/retry-after.json', import.meta.url)
interface Case {
  readonly status: number
  readonly retryAfter: string | null
  readonly leastSeconds?: number
  readonly mostSeconds?: number
}

t.test('values that were met', { skip: existsSync(CASES) ? false : 'no ../shared/cases' }, async t => {
  for (const { status, retryAfter, leastSeconds = 0, mostSeconds = 4_000 } of JSON.parse(
    readFileSync(CASES, 'utf8'),
  ) as Case[]) {
    const header = retryAfter?.startsWith('{now') ? `${NOW / 1_000 + 60}` : retryAfter
    const error = httpErrorOf('binance', 'GET /', status, statedWait({ status, header }, NOW))
    const waits = [0, 0.999_999].map(random => delayAfter(9, random, error) / 1_000)
    t.ok(
      waits.every(wait => wait >= leastSeconds && wait <= mostSeconds),
      `${status} ${retryAfter}: ${waits}`,
    )
  }
})
