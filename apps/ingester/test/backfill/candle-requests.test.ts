import { setImmediate as turn } from 'node:timers/promises'
import { createManualClock } from '@kimchi/core/testing'
import { HttpError } from '@kimchi/feeds'
import { createMemoryLog } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { CandleRequests } from '../../src/backfill/candle-requests.ts'

const PAGE = { candles: [], start: 0 }
/** Between two requests to Upbit, at 8 a second. */
const SPACING = 125
const RANGE = { count: 10, last: 10 }

/** Requests to exchanges that answer as `script` has it, one entry a request; a page when it is empty. */
function open(
  t: Test,
  script: (Error | 'hang' | 'page' | { pauseMs: number } | { afterMs: number; error: Error })[],
) {
  const clock = createManualClock(0)
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  const asked: { at: number; exchange: string; market: string }[] = []
  const candleRequests = new CandleRequests(
    {
      fetchCandles: async ({ exchange, market }) => {
        asked.push({ at: clock.now(), exchange, market })
        const outcome = script.shift()
        if (outcome === 'hang') return new Promise(() => {})
        if (outcome instanceof Error) throw outcome
        if (typeof outcome !== 'object') return PAGE
        if (!('afterMs' in outcome)) return { ...PAGE, ...outcome }
        await clock.wait(outcome.afterMs)
        throw outcome.error
      },
    },
    8,
    { clock, random: () => 0, log: createMemoryLog(), signal: ending.signal },
  )
  const fetch = (market: string, exchange: 'upbit' | 'binance' = 'upbit') =>
    candleRequests.fetchPage({ exchange, market, ...RANGE })
  /** Lets time pass until the request is through; returns when it was asked again. */
  const through = async (promise: Promise<unknown>, stepMs = 25) => {
    let isOver = false
    const over = promise.finally(() => {
      isOver = true
    })
    over.catch(() => {})
    while (!isOver) {
      await turn()
      if (!isOver && clock.waiting > 0) await clock.advance(stepMs)
    }
    return over
  }
  return { clock, candleRequests, fetch, asked, through }
}

const refusal = (status: number, retryAfterMs?: number) =>
  new HttpError(
    status === 451 ? 'KIMCHI_ERR_GEO_BLOCKED' : 'KIMCHI_ERR_REST',
    `HTTP ${status}`,
    status,
    retryAfterMs,
  )

t.test('requests go out evenly, at most eight a second to Upbit, however many wait', async t => {
  const { fetch, asked, through } = open(t, [])
  await through(Promise.all(Array.from({ length: 24 }, (_, at) => fetch(`KRW-${at}`))))
  const times = asked.map(({ at }) => at)
  t.strictSame(
    times,
    times.map((_, index) => index * SPACING),
  )
  t.strictSame(
    asked.map(({ market }) => market),
    times.map((_, index) => `KRW-${index}`),
    'in their order',
  )
})

t.test('an answer that asks for a rest gets it', async t => {
  const { fetch, asked, through } = open(t, [{ pauseMs: 1_000 }])
  await through(fetch('KRW-A'))
  await through(fetch('KRW-B'))
  t.strictSame(
    asked.map(({ at }) => at),
    [0, 1_000],
  )
})

// docs/faults.md, 41
t.test('a 429 holds the exchange back for as long as it says, and the request is repeated', async t => {
  const { fetch, asked, through, candleRequests } = open(t, [refusal(429, 1_000)])
  const refused = fetch('KRW-A')
  await turn()
  await through(fetch('KRW-B'))
  await through(refused)
  t.strictSame(asked.map(({ market }) => market).sort(), ['KRW-A', 'KRW-A', 'KRW-B'])
  t.strictSame(
    asked.map(({ at }) => at),
    [0, 1_000, 1_000 + SPACING],
  )
  t.match(candleRequests.status(), [{ exchange: 'upbit', problem: undefined }, {}])
})

// docs/faults.md, 41
t.test('the delay after 429s in a row grows, and starts again after a success', async t => {
  const refused = () => refusal(429, 1_000)
  const { fetch, asked, through } = open(t, [...Array.from({ length: 6 }, refused), 'page', refused()])
  await through(fetch('KRW-A'))
  await through(fetch('KRW-B'))
  const times = asked.map(({ at }) => at)
  t.strictSame(
    times.slice(1).map((at, index) => at - (times[index] ?? 0)),
    [1_000, 1_000, 1_000, 2_000, 4_000, 8_000, SPACING, 1_000],
  )
})

t.test('an exchange that names a time gets no request for that long, and not longer', async t => {
  for (const [exchange, cause, waitMs] of [
    ['binance', refusal(418, 120_000), 120_000],
    ['upbit', refusal(503, 20_000), 20_000],
    ['upbit', refusal(418), 300_000],
    ['upbit', refusal(451), 600_000],
  ] as const) {
    const { fetch, asked, through, candleRequests, clock } = open(t, [cause])
    const refused = fetch('A', exchange)
    await turn()
    const other = fetch('B', exchange)
    await clock.advance(1_000)
    t.equal(asked.length, 1, 'nothing goes out meanwhile')
    t.match(
      candleRequests.status().find(status => status.exchange === exchange)?.problem,
      `HTTP ${cause.status}`,
    )
    await through(Promise.all([refused, other]), 1_000)
    const wentAt = asked[1]?.at ?? 0
    t.ok(wentAt >= waitMs && wentAt <= waitMs + 2_000, `${exchange} ${cause.status}: ${wentAt} ms`)
  }
})

t.test('a 418 that several requests get at once makes them wait once', async t => {
  const { fetch, clock, through } = open(t, Array(3).fill({ afterMs: 1_000, error: refusal(418, 60_000) }))
  await through(Promise.all(['KRW-A', 'KRW-B', 'KRW-C'].map(market => fetch(market))))
  t.ok(clock.now() <= 63_000, `${clock.now()} ms`)
})

t.test('one exchange never waits for the other', async t => {
  const { fetch, asked } = open(t, [refusal(418)])
  fetch('KRW-A', 'upbit').catch(() => {})
  await turn()
  await fetch('AUSDT', 'binance')
  t.match(asked.at(-1), { at: 0, exchange: 'binance' })
})

t.test('a wall clock that steps back holds up nothing', async t => {
  const { fetch, clock, through, asked } = open(t, [])
  await through(fetch('KRW-A'))
  clock.step(-3_600_000)
  await through(fetch('KRW-B'))
  t.equal(asked.at(-1)?.at, SPACING - 3_600_000)
})

// docs/faults.md, 41
t.test('any other failure concerns its request alone, and nobody waits for it', async t => {
  for (const cause of [refusal(404), refusal(400), refusal(500), new Error('socket hang up')]) {
    const { fetch, through, asked, candleRequests } = open(t, [cause, cause])
    for (const market of ['KRW-A', 'KRW-USDT']) await t.rejects(through(fetch(market)), cause)
    t.ok(await through(fetch('KRW-B')))
    t.strictSame(
      asked.map(({ at }) => at),
      [0, SPACING, 2 * SPACING],
    )
    t.match(candleRequests.status(), [{ exchange: 'upbit', problem: undefined }, {}])
  }
})
