import t from 'tap'
import { createClient, type LiveUpdate, utcMs } from '../src/index.ts'
import { iso, M, type Server, steady, watchFor } from './watch-server.ts'

t.test('an hour is 60 requests, each 67.5 s after the newest minute', async t => {
  const { asked, updates } = await watchFor(60, steady)
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

t.test('a service that stands still is asked once a minute', async t => {
  t.strictSame((await watchFor(5, () => ({ minute: M }))).asked, [10, 67.5, 127.5, 187.5, 247.5])
})

t.test('backs off after failures, keeps the last good answer, and recovers', async t => {
  const server: Server = now => (now > M + 60_000 && now < M + 1_000_000 ? 'gone' : steady(now))
  const { asked, updates } = await watchFor(20, server)
  t.strictSame(asked, [10, 67.5, 130, 252.5, 495, 797.5, 1_100, 1_147.5])
  t.match(updates[2], { list: { updated_at: iso(M) }, error: { code: 'unreachable' } })
  t.match(updates[6], { list: { updated_at: iso(M + 18 * 60_000) }, error: undefined })
})

t.test('after an answer it waits a minute at least, and as long as Retry-After says', async t => {
  const refusing = (retryAfter: string) => (now: number) =>
    now > M + 60_000 ? { status: 429, retryAfter } : steady(now)
  t.strictSame((await watchFor(3, refusing('5'))).asked, [10, 67.5, 130])
  t.strictSame((await watchFor(20, refusing('900'))).asked, [10, 67.5, 970])
})

t.test('asks a service that is starting when its Retry-After says, until it has data', async t => {
  const startingFor = (seconds: number, retryAfter: string) => (now: number) =>
    now < M + seconds * 1_000 ? { status: 503, retryAfter } : steady(now)
  const { asked, updates } = await watchFor(4, startingFor(200, '3'))
  const [often, seldom] = [
    [10, 15, 20, 25, 30, 35],
    [40, 50, 70, 110, 170, 230],
  ]
  t.strictSame(
    asked,
    [...often, ...seldom],
    'in 5 s at the soonest, and from the seventh time on in up to 60',
  )
  t.equal(updates[0]?.list, undefined)
  t.strictSame((await watchFor(1, startingFor(30, '30'))).asked, [10, 40])
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
