import t from 'tap'
import { createClient, type LiveUpdate, utcMs } from '../src/index.ts'
import { iso, M, type Server, steady, watchFor } from './watch-server.ts'

t.test('an hour is 60 requests, each 67.5 s after the newest minute', async t => {
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
  'a service that stands still is asked once a minute, and with onceMore once more per minute it stays at',
  async t => {
    const standing: Server = () => ({ minute: M })
    t.strictSame((await watchFor(5, standing)).asked, [10, 67.5, 127.5, 187.5, 247.5])
    t.strictSame(
      (await watchFor(5, standing, { onceMore: true })).asked,
      [10, 67.5, 77.5, 127.5, 187.5, 247.5],
    )
  },
)

t.test('backs off after failures, keeps the last good answer, and recovers', async t => {
  const server: Server = now => (now > M + 60_000 && now < M + 400_000 ? 'gone' : steady(now))
  const { asked, updates } = await watchFor(10, server)
  t.strictSame(asked, [10, 67.5, 130, 252.5, 495, 547.5])
  t.match(updates[2], { list: { updated_at: iso(M) }, error: { code: 'unreachable' } })
  t.match(updates[4], { list: { updated_at: iso(M + 8 * 60_000) }, error: undefined })
})

t.test('asks a service that is starting when its Retry-After says, until it has data', async t => {
  const server: Server = now => (now < M + 23_000 ? { status: 503, retryAfter: '5' } : steady(now))
  const { asked, updates } = await watchFor(2, server)
  t.strictSame(asked, [10, 15, 20, 25, 67.5])
  t.equal(updates[0]?.list, undefined)
})

t.test('continues from an older answer, and ends with its signal', async t => {
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
