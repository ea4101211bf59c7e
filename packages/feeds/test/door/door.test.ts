import { setImmediate as turn } from 'node:timers/promises'
import type { Exchange, Milliseconds } from '@kimchi/core'
import { eventually, responseOf } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t, { type Test } from 'tap'
import { binanceProtocol } from '../../src/binance.ts'
import type { Want } from '../../src/door/way.ts'
import { RestClient } from '../../src/rest/client.ts'
import { AT, openDoors, watchFeed } from '../harness.ts'
import { miniTicker, refuseWith, scriptExchange } from '../scripted-exchange.ts'

/** Between two requests to Upbit, at 8 a second. */
const SPACING = 125

/** What an exchange answers to one request: a status, maybe with `Retry-After` or another header, after a while. */
type Outcome = number | { status: number; headers?: Record<string, string>; afterMs?: Milliseconds } | Error

/** Both doors of exchanges that answer as `script` has it, one entry a request; 200 when it is empty. */
function open(t: Test, script: Outcome[], upbitPerSecond = 8) {
  const clock = createManualClock(AT)
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  const asked: { at: number; path: string }[] = []
  const fetch = async (input: unknown) => {
    asked.push({ at: clock.now() - AT, path: new URL(String(input)).pathname })
    const outcome = script.shift() ?? 200
    if (outcome instanceof Error) throw outcome
    const { status, headers = {}, afterMs = 0 } = typeof outcome === 'number' ? { status: outcome } : outcome
    if (afterMs > 0) await clock.wait(afterMs)
    return responseOf({ status, headers, text: '{}' })
  }
  const doors = openDoors(
    { rest: 'http://x.test', upbitPerSecond, fetch: fetch as typeof globalThis.fetch },
    { clock, random: () => 0, signal: ending.signal },
  )
  const get = (path: string, want?: Want, exchange: Exchange = 'upbit') =>
    doors[exchange].get(`/${path}`, () => path, want)
  /** Lets time pass until the requests are through. */
  const through = async <T>(promise: Promise<T>, stepMs = 25): Promise<T> => {
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
  const times = () => asked.map(({ at }) => at)
  const paths = () => asked.map(({ path }) => path.slice(1))
  return { clock, doors, get, asked, times, paths, through, ending }
}

const busy = (seconds?: number, status = 429) => ({
  status,
  headers: seconds === undefined ? {} : { 'retry-after': `${seconds}` },
})

t.test('requests go out evenly, at most eight a second to Upbit and twenty to Binance', async t => {
  for (const [exchange, spacing] of [
    ['upbit', SPACING],
    ['binance', 50],
  ] as const) {
    const { get, times, paths, through } = open(t, [])
    const all = Array.from({ length: 24 }, (_, at) => `${at}`)
    await through(Promise.all(all.map(path => get(path, {}, exchange))))
    t.strictSame(
      times(),
      all.map((_, index) => index * spacing),
    )
    t.strictSame(paths(), all, 'in their order')
  }
})

t.test('an urgent request goes before those that can wait', async t => {
  const { get, paths, through } = open(t, [])
  const waiting = ['a', 'b', 'c'].map(path => get(path))
  await through(Promise.all([...waiting, get('now', { isUrgent: true })]))
  t.strictSame(paths(), ['a', 'now', 'b', 'c'])
})

t.test('an answer that has no request left in its second is followed by one', async t => {
  const { get, times, through } = open(t, [
    { status: 200, headers: { 'remaining-req': 'group=candle; sec=0' } },
  ])
  await through(get('a'))
  await through(get('b'))
  t.strictSame(times(), [0, 1_000])
})

// docs/faults.md, 41
t.test('a 429 holds the exchange back for as long as it says, and the request is repeated', async t => {
  const { get, times, paths, through, doors } = open(t, [busy(1)])
  await through(Promise.all([get('a'), get('b')]))
  t.strictSame(paths().sort(), ['a', 'a', 'b'])
  t.strictSame(times(), [0, 1_000, 1_000 + SPACING])
  t.match(doors.upbit.status().rest, { held: undefined, waiting: 0 })
})

// docs/faults.md, 41
t.test('the delay after 429s in a row grows, and starts again after a success', async t => {
  const { get, times, through } = open(t, [...Array(6).fill(busy(1)), 200, busy(1)])
  await through(get('a'))
  await through(get('b'))
  const waits = times().map((at, index, all) => at - (all[index - 1] ?? 0))
  t.strictSame(waits.slice(1), [1_000, 1_000, 1_000, 2_000, 4_000, 8_000, SPACING, 1_000])
})

// docs/faults.md, 102
t.test('what an exchange refuses to one caller holds for all who ask it, and for no other', async t => {
  for (const [outcome, waitMs] of [
    [busy(120, 503), 120_000],
    [busy(120, 418), 300_000],
    [busy(900, 418), 900_000],
    [busy(undefined, 403), 250],
    [busy(undefined, 451), 600_000],
  ] as const) {
    const { get, times, clock, through, doors } = open(t, [outcome])
    const refused = get('a')
    await turn()
    const other = get('b', { isUrgent: true })
    await turn()
    t.match(doors.upbit.status().rest, {
      waiting: 2,
      held: { reason: new RegExp(`HTTP ${outcome.status}`), until: AT + waitMs },
    })
    await get('c', {}, 'binance')
    t.equal(times().length, 2, 'Binance answers')
    await clock.advance(waitMs - 1)
    t.equal(times().length, 2, 'nothing goes out meanwhile')
    await through(Promise.all([refused, other]))
    t.match(times()[2], waitMs, `${outcome.status}`)
  }
})

t.test('a 418 that several requests get at once makes them wait once', async t => {
  const { get, clock, through } = open(t, Array(3).fill({ ...busy(300, 418), afterMs: 1_000 }))
  await through(Promise.all(['a', 'b', 'c'].map(path => get(path))), 500)
  t.ok(clock.now() - AT <= 303_000, `${clock.now() - AT} ms`)
})

t.test('a request says how long the end of a refusal is worth waiting for', async t => {
  const { get, asked, through, clock } = open(t, [busy(60), busy(60)])
  await t.rejects(get('a', { worthMs: 0 }), { name: 'HttpError', status: 429, retryAfterMs: 60_000 })
  await clock.advance(10_000)
  await t.rejects(get('b', { worthMs: 49_999 }), { message: /not asked again: .*429/, retryAfterMs: 50_000 })
  t.equal(asked.length, 1)
  const worth = get('c', { worthMs: 50_000 })
  await clock.advance(50_000)
  await t.rejects(worth, { name: 'HttpError', status: 429 })
  t.equal(await through(get('d'), 1_000), 'd')
})

t.test('an abort frees a place, of one request or of all', async t => {
  const { get, paths, through, doors, ending } = open(t, [])
  const stop = new AbortController()
  await get('a')
  const aborted = get('b', { signal: stop.signal })
  const other = get('c')
  t.equal(doors.upbit.status().rest.waiting, 2)
  stop.abort(new Error('enough'))
  await t.rejects(aborted, { message: 'enough' })
  await through(other)
  const last = get('d')
  ending.abort()
  await t.rejects(last, { name: 'AbortError' })
  t.strictSame(paths(), ['a', 'c'])
})

t.test('a wall clock that steps back holds up nothing', async t => {
  const { get, clock, through, times } = open(t, [])
  await get('a')
  clock.step(-3_600_000)
  await through(get('b'))
  t.equal(times()[1], SPACING - 3_600_000)
})

// docs/faults.md, 41
t.test('another refusal concerns its request alone, and nobody waits for it', async t => {
  for (const status of [404, 400, 500]) {
    const { get, times, through, doors } = open(t, [status, status])
    for (const path of ['a', 'b']) await t.rejects(through(get(path)), { name: 'HttpError', status })
    await through(get('c'))
    t.strictSame(times(), [0, SPACING, 2 * SPACING])
    t.match(doors.upbit.status().rest, { held: undefined })
  }
})

t.test('an exchange that is not reached is asked less and less often, and each caller is told', async t => {
  const { get, times, through } = open(t, Array(5).fill(new Error('no route')))
  for (let failure = 0; failure < 5; failure++) await t.rejects(through(get('a')), { message: /no route/ })
  await through(get('a'))
  const waits = times().map((at, index, all) => at - (all[index - 1] ?? 0))
  t.strictSame(waits.slice(1), [250, 500, 1_000, 2_000, 4_000])
})

t.test(
  'a refused stream holds new streams back, and REST a REST refusal; an open stream lives on',
  async t => {
    const exchange = await scriptExchange(t)
    const clock = createManualClock(AT)
    let requests = 0
    const fetch = async () => {
      requests += 1
      return responseOf({ status: 418, headers: { 'retry-after': '259200' }, text: '{}' })
    }
    const doors = openDoors(
      { streams: exchange.url, rest: 'http://x.test', fetch: fetch as typeof globalThis.fetch },
      { clock },
    )
    const rest = new RestClient(doors)
    const protocol = { ...binanceProtocol, stallAfterMs: 10 ** 9, maxAgeMs: undefined }
    const feedOptions = { protocol, bases: [], door: doors.binance }
    const { feed } = watchFeed(
      t,
      { ...feedOptions, fetchTradingPrices: signal => rest.fetchTradingPrices(signal) },
      clock,
    )
    await eventually('the stream', () => exchange.peers.length === 1)
    exchange.peers[0]?.socket.send(miniTicker('BTCUSDT', '5', AT))
    await eventually('its data', () => feed.status().state === 'up')
    await clock.advance(40_000)
    await eventually('the refusal', () => doors.binance.status().rest.held !== undefined)
    for (let hour = 0; hour < 71; hour++) await clock.advance(3_600_000)
    t.match(doors.binance.status(), {
      rest: { waiting: 1, held: { isBlocked: true } },
      stream: { held: undefined },
    })
    t.equal(requests, 1, 'three days without a request')
    t.equal(feed.status().state, 'up')
    t.equal(exchange.state.attempts, 1, 'and the stream is the first one')
    exchange.state.upgrade = refuseWith('429 Too Many', 'Retry-After: 60\r\n')
    exchange.peers[0]?.socket.close()
    await eventually('the end', () => feed.status().state !== 'up')
    await clock.advance(1_000)
    await eventually('the refusal of the stream', () => doors.binance.status().stream.held !== undefined)
    exchange.state.upgrade = undefined
    await clock.advance(70_000)
    await eventually('the next stream, while REST is refused', () => exchange.peers.length === 2)
  },
)

t.test('a feed that is begun behind a closed door ends, and keeps nobody from working', async t => {
  const { binance: door } = openDoors({}, { signal: AbortSignal.abort() })
  const { feed } = watchFeed(t, { protocol: binanceProtocol, bases: [], door })
  await turn()
  t.match(feed.status(), { state: 'connecting', lastError: undefined })
})
