import t from 'tap'
import { type Clock, createClient, type LiveUpdate, utcMs } from '../src/index.ts'

const M = 29_000_000 * 60_000
const iso = (ms: number) => new Date(ms).toISOString().slice(0, 19)

/** What a server says at a time: the minute it has, or a refusal. */
type Server = (now: number) => { minute: number } | { status: number; retryAfter?: string } | 'gone'

/**
 * Watches a server in a time of its own for some minutes, and tells when it was asked and what the watcher
 * was told.
 */
async function watchFor(
  minutes: number,
  server: Server,
  { onceMore = false, skewMs = 0, startMs = 10_000 } = {},
) {
  let now = M + startMs
  const asked: number[] = []
  const updates: LiveUpdate[] = []
  const abort = new AbortController()
  const clock: Clock = {
    now: () => now + skewMs,
    wait: async ms => {
      now += ms
      if (now > M + minutes * 60_000) abort.abort()
    },
  }
  const client = createClient({
    baseUrl: 'http://service.test/api/v1',
    clock,
    random: () => 0.5,
    fetch: async () => {
      asked.push(Math.round((now - M) / 100) / 10)
      const said = server(now)
      const headers = { date: new Date(now).toUTCString() }
      if (said === 'gone') throw new TypeError('fetch failed')
      if ('status' in said) {
        const extra = said.retryAfter === undefined ? {} : { 'retry-after': said.retryAfter }
        return new Response('{}', { status: said.status, headers: { ...headers, ...extra } })
      }
      const body = { result: 'ok', updated_at: iso(said.minute), count: 0, note: '', data: [] }
      return new Response(JSON.stringify(body), { headers })
    },
  })
  await client.watch(update => updates.push(update), { signal: abort.signal, onceMore })
  return { asked, updates }
}

/** A service that publishes each minute 3 s after its end. */
const steady: Server = now => ({ minute: Math.floor((now - 3_000) / 60_000) * 60_000 })

t.test('an hour is 60 questions, each 67.5 s after the newest minute', async t => {
  const { asked, updates } = await watchFor(60, steady, { onceMore: true })
  t.equal(asked.length, 60)
  t.strictSame(asked.slice(0, 4), [10, 67.5, 127.5, 187.5])
  t.ok(
    updates.every(({ error }) => error === undefined),
    'no failure',
  )
  t.strictSame(
    new Set(updates.slice(1).map(({ list }, index) => utcMs(list?.updated_at ?? '') - M - index * 60_000)),
    new Set([60_000]),
    'each minute once, the newest',
  )
})

t.test(
  'a stalled service is asked once a minute, and with onceMore once more per minute it stays at',
  async t => {
    const stalled: Server = () => ({ minute: M })
    t.strictSame((await watchFor(5, stalled)).asked, [10, 67.5, 127.5, 187.5, 247.5])
    t.strictSame(
      (await watchFor(5, stalled, { onceMore: true })).asked,
      [10, 67.5, 77.5, 127.5, 187.5, 247.5],
    )
  },
)

t.test('failures back off, keep the last good answer, and end by themselves', async t => {
  const server: Server = now => (now > M + 60_000 && now < M + 400_000 ? 'gone' : steady(now))
  const { asked, updates } = await watchFor(10, server)
  t.strictSame(asked, [10, 67.5, 130, 252.5, 495, 547.5])
  t.match(updates[2], { list: { updated_at: iso(M) }, error: { code: 'unreachable' } })
  t.match(updates[4], { list: { updated_at: iso(M + 8 * 60_000) }, error: undefined })
})

t.test('Retry-After is respected', async t => {
  const server: Server = now =>
    now > M + 60_000 && now < M + 200_000 ? { status: 429, retryAfter: '170' } : steady(now)
  t.strictSame((await watchFor(4, server)).asked, [10, 67.5, 240])
})

t.test('a service that starts is asked when it says so, until it has data', async t => {
  const server: Server = now => (now < M + 23_000 ? { status: 503, retryAfter: '5' } : steady(now))
  const { asked, updates } = await watchFor(2, server)
  t.strictSame(asked, [10, 15, 20, 25, 67.5])
  t.equal(updates[0]?.list, undefined)
})

t.test('a clock that is an hour wrong asks at the same times', async t => {
  for (const skewMs of [3_600_000, -3_600_000]) {
    const { asked, updates } = await watchFor(4, steady, { skewMs, onceMore: true })
    t.equal(asked.length, 4)
    t.ok(
      asked.slice(1).every((at, index) => at >= 65 + index * 60 && at <= 70 + index * 60),
      `${asked}`,
    )
    t.ok(Math.abs((updates[0]?.clockOffsetMs ?? 0) + skewMs) < 1_000)
  }
})

t.test('goes on from an older answer, and ends with its signal', async t => {
  const last = { result: 'ok' as const, updated_at: iso(M), count: 0, note: '', data: [] }
  const abort = new AbortController()
  const seen: LiveUpdate[] = []
  const client = createClient({
    baseUrl: 'http://service.test/api/v1',
    fetch: () => Promise.reject(new TypeError('fetch failed')),
  })
  await client.watch(
    update => {
      seen.push(update)
      abort.abort()
    },
    { signal: abort.signal, last },
  )
  t.match(seen, [{ list: last, error: { code: 'unreachable' } }])
  await client.watch(() => t.fail('asked although ended'), { signal: abort.signal })
})
