import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { type EpochMinute, MINUTE_MS, minuteOf, minuteStart } from '@kimchi/core'
import { ask, eventually, type RawResponse } from '@kimchi/testkit'
import t from 'tap'
import type { Replica } from '../src/apps.ts'
import { lacksNginx, openEdge } from '../src/edge.ts'
import {
  aheadMinute,
  answersOf,
  LIVE,
  metricsOf,
  metricsWith,
  openReplicas,
  premiumAt,
  upstreamRequests,
} from './support/edge-stack.ts'
import { lacksVarnish, openVarnish } from './support/varnish.ts'

/** As browsers, libraries and tools send it, by what the edge makes of it. */
const SPELLINGS = {
  br: [
    'gzip, br;q=0.5',
    'identity, br;q=0.5',
    'gzip, deflate, br, zstd',
    'gzip, deflate, br',
    'br',
    'br;q=1.0, gzip;q=0.8, *;q=0.1',
    'BR , gzip',
  ],
  gzip: [
    'gzip',
    'gzip, deflate',
    'gzip;q=1.0,deflate;q=0.6',
    'br;q=0, gzip',
    'x-gzip',
    'gzip;q=0.001,br;q=0.000',
  ],
  identity: [
    '',
    'identity',
    'deflate',
    'gzip;q=0, br;q=0',
    'br;q=2',
    'brotli',
    'gzip; q=0.0',
    '*;q=0',
    '*',
    'br;q=0.1234',
  ],
}

const DOCUMENTS = [LIVE, `${LIVE}/BTC/daily`, `${LIVE}/ETH/daily?days=7`]

t.test('100 clients at the turn of a minute', { skip: lacksNginx }, async t => {
  const { replicas, writeMinute, ...upstream } = await openReplicas(t)
  // What a cache takes that asks late must not have begun to be fresh then.
  const soon = minuteStart(minuteOf(Date.now()) + 1) - 20_000 - Date.now()
  if (soon < 0) await delay(MINUTE_MS + soon)
  const minute = minuteOf(Date.now())
  await writeMinute(minute)
  const hasList = async (replica: Replica) => (await ask(replica.opsPort, '/ready')).status === 200
  await eventually('replicas have it', async () => (await Promise.all(replicas.map(hasList))).every(Boolean))
  const edge = await openEdge(t, upstream)
  const varnish = lacksVarnish ? undefined : await openVarnish(t, edge.port)
  const { now } = Date
  const next = minuteStart(minute + 1)
  const before = await answersOf(replicas)

  const seen: Seen[] = []
  const renewedCopies = new Set<string>()
  const isOver = () => {
    const isRenewed = renewedCopies.size === DOCUMENTS.length * Object.keys(SPELLINGS).length
    return now() >= next + (isRenewed ? 10_000 : MINUTE_MS)
  }
  const onSeen = (one: Seen) => {
    seen.push(one)
    if (one.shown === minute + 1) renewedCopies.add(one.copy)
  }
  const run = { now, isOver, onSeen, minuteIn: readMinutes([minute, minute + 1]) }
  const clients = Array.from({ length: 100 }, (_, index) => runClient(edge.port, index, run))
  // Earlier than an ingester would: replicas have it when the edge asks, however busy this machine is.
  await delay(next - 3_000 - now())
  const behind: Seen[] = []
  const late = { ...run, onSeen: (one: Seen) => behind.push(one) }
  if (varnish !== undefined) clients.push(...DOCUMENTS.map((_, index) => runClient(varnish, index, late)))
  await writeMinute(minute + 1)
  await Promise.all(clients)

  t.comment(`${seen.length} answers`)
  t.strictSame(new Set(seen.map(({ status }) => status)), new Set([200]), 'every request is answered')
  t.strictSame(new Set(seen.map(({ shown }) => shown)), new Set([minute, minute + 1]))
  for (const [rule, until] of Object.entries(FRESHNESS)) {
    const after = seen.map(one => until(one) - minuteStart(one.shown + 1))
    const [least, most] = [Math.min(...after), Math.max(...after)]
    t.ok(
      least >= 1_000 && most <= 5_000,
      `by ${rule} none is fresh beyond the next minute + ${least} to ${most} ms`,
    )
  }
  // While the edge fetches a copy, others get the old one, however slow the replica is.
  const renewed = firstSight(seen, minute + 1)
  t.equal(renewed.size, DOCUMENTS.length * Object.keys(SPELLINGS).length, 'every copy is renewed')
  const old = seen.filter(
    ({ copy, asked, shown }) =>
      shown === minute && asked > Math.max(next + 5_000, (renewed.get(copy) ?? 0) + 1_000),
  )
  t.strictSame(old, [], 'who asks 5 s into the next minute, and when it is there, does not get the old one')

  const asked = await upstreamRequests(edge)
  t.equal(asked.length, (await answersOf(replicas)) - before, 'the log has what the replicas counted')
  // A new minute is available from its third second on.
  const turnOf = (time: string) => Math.floor((Date.parse(time) - 3_000 - next) / MINUTE_MS)
  const keys = asked.map(({ time, uri, coding }) => `${turnOf(time)} ${uri} ${coding}`)
  t.strictSame(
    [...new Set(keys)].sort(),
    keys.sort(),
    'at most one upstream request per document, coding and minute',
  )
  t.equal(keys.length, 2 * DOCUMENTS.length * Object.keys(SPELLINGS).length)

  await t.test('and behind a cache that counts by Age', { skip: lacksVarnish }, async t => {
    const oldest = Math.max(...behind.map(({ received, shown }) => received - minuteStart(shown)))
    t.comment(`${behind.length} answers`)
    t.ok(oldest <= 67_000, `no list is older than a minute + ${oldest - MINUTE_MS} ms`)
    t.ok(behind.some(({ shown }) => shown === minute + 1))
  })
})

/** RFC 9111 §4.2.3: until when caches show an answer without asking. */
const FRESHNESS: Readonly<Record<string, (seen: Seen) => number>> = {
  Date: ({ headers }) => Date.parse(headers.date ?? '') + maxAgeOf(headers),
  // Of whole seconds, like max-age.
  Age: ({ headers, asked }) =>
    1_000 * (Math.floor(asked / 1_000) - Number(headers.age ?? 0)) + maxAgeOf(headers),
}

function maxAgeOf(headers: RawResponse['headers']): number {
  const [, seconds] =
    /^public, max-age=(\d+), stale-while-revalidate=2, stale-if-error=600$/.exec(
      headers['cache-control'] ?? '',
    ) ?? []
  return Number(seconds) * 1_000
}

/** When a client first got the minute, by copy. */
function firstSight(seen: readonly Seen[], minute: EpochMinute): ReadonlyMap<string, number> {
  const inOrder = seen.filter(({ shown }) => shown === minute).sort((a, b) => b.received - a.received)
  return new Map(inOrder.map(({ copy, received }) => [copy, received]))
}

interface Seen {
  readonly asked: number
  readonly received: number
  /** Path and coding: what the edge keeps one copy of. */
  readonly copy: string
  readonly status: number
  /** Minute of the data; 0 when it is neither of the two. */
  readonly shown: EpochMinute
  readonly headers: RawResponse['headers']
}

interface Run {
  readonly now: () => number
  readonly isOver: () => boolean
  readonly onSeen: (seen: Seen) => void
  readonly minuteIn: (answer: RawResponse) => EpochMinute
}

/** A client with an address and a connection of its own, which asks about once a second. */
async function runClient(port: number, index: number, { now, isOver, onSeen, minuteIn }: Run): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const localAddress = `127.1.0.${index + 1}`
  const spellings = Object.entries(SPELLINGS).flatMap(([coding, all]) =>
    all.map(text => [text, coding] as const),
  )
  for (let turn = index; !isOver(); turn++) {
    const path = DOCUMENTS[turn % DOCUMENTS.length] as string
    const [spelling, coding] = spellings[turn % spellings.length] as readonly [string, string]
    const headers = { 'accept-encoding': spelling }
    const asked = now()
    const answer = await ask(port, path, { agent, localAddress, headers })
    const received = now()
    onSeen({
      asked,
      received,
      copy: `${path} ${coding}`,
      status: answer.status,
      shown: minuteIn(answer),
      headers: answer.headers,
    })
    // Each has its place in the second.
    await delay(1_000 - ((received + index) % 1_000))
  }
  agent.destroy()
}

/** The minute whose premium is in an answer; each tag is read once. */
function readMinutes(candidates: readonly EpochMinute[]) {
  const minutes = new Map<unknown, EpochMinute>()
  return (answer: RawResponse): EpochMinute => {
    const { etag } = answer.headers
    if (!minutes.has(etag)) {
      const { data } = JSON.parse(plain(answer))
      const premium = data.at(-1).premium_pct ?? data.at(-1).close_pct
      minutes.set(etag, candidates.find(minute => premiumAt(minute) === premium) ?? 0)
    }
    return minutes.get(etag) ?? 0
  }
}

function plain({ headers, body }: RawResponse): string {
  const coding = headers['content-encoding']
  const decoded = coding === 'br' ? brotliDecompressSync(body) : coding === 'gzip' ? gunzipSync(body) : body
  return decoded.toString()
}

t.test('the edge keeps a copy of each document and coding', { skip: lacksNginx }, async t => {
  const { replicas, ...upstream } = await openReplicas(t, { minute: aheadMinute() })
  const edge = await openEdge(t, upstream)

  await t.test(
    'every spelling of Accept-Encoding shares one copy per coding, and means it at a replica',
    async t => {
      const before = await answersOf(replicas)
      for (const [coding, spellings] of Object.entries(SPELLINGS)) {
        for (const spelling of spellings) {
          const { headers } = await ask(edge.port, LIVE, { headers: { 'accept-encoding': spelling } })
          t.equal(headers['content-encoding'] ?? 'identity', coding, `"${spelling}"`)
          t.match(headers, { vary: 'Accept-Encoding', 'access-control-allow-origin': '*' })
        }
      }
      t.equal((await answersOf(replicas)) - before, 3)
      for (const [coding, spellings] of Object.entries(SPELLINGS)) {
        for (const spelling of spellings) {
          const { headers } = await ask(upstream.apiPort, LIVE, { headers: { 'accept-encoding': spelling } })
          t.equal(headers['content-encoding'] ?? 'identity', coding, `"${spelling}" at a replica`)
        }
      }
    },
  )

  await t.test('each request is counted once, whatever became of it', async t => {
    const edge = await openEdge(t, { ...upstream, perSecond: 1 })
    const seen: number[] = []
    const count = async () => {
      const text = await metricsOf(edge)
      const counts = [...text.matchAll(/^kimchi_edge_requests_total\{(.*)\} (\d+)$/gm)]
      const hits = Number(counts.find(([, labels]) => labels === 'cache="hit"')?.[2])
      seen.push(hits)
      return { hits, sum: counts.reduce((sum, [, , n]) => sum + Number(n), 0) }
    }
    const { headers } = await ask(edge.port, LIVE)
    await metricsWith(edge, /^kimchi_edge_requests_total\{route="live",status="200",cache="\w+"\} 1$/m)
    const before = await count()
    const { body } = await ask(edge.opsPort, '/live')
    t.equal(body.length, 0, 'nor is this one counted')
    const kinds = [
      [LIVE, {}],
      [LIVE, { headers: { 'if-none-match': String(headers.etag) } }],
      [LIVE, { method: 'HEAD' }],
      [LIVE, { method: 'POST' }],
      [`${LIVE}/BTC/daily`, {}],
      [`${LIVE}/NONE/daily`, {}],
      ['/missing.html', {}],
      ['/api/v2', {}],
    ] as const
    const statuses: number[] = []
    for (let n = 0; n < 50; n++) {
      const asked = kinds.map(async ([path, options]) => (await ask(edge.port, path, options)).status)
      if (n % 5 === 0) await count()
      statuses.push(...(await Promise.all(asked)))
    }
    t.strictSame([...new Set(statuses)].sort(), [200, 304, 404, 405, 429])
    await eventually('all are counted', async () => (await count()).sum === before.sum + statuses.length)
    await count()
    t.equal((await count()).sum, before.sum + statuses.length, 'to look is not counted')
    t.ok((await count()).hits > before.hits, 'hits too')
    t.strictSame(
      seen,
      [...seen].sort((a, b) => a - b),
      'and none is taken back',
    )
  })

  await t.test(
    'a query without meaning shares the copy; one that may have a meaning gets its own',
    async t => {
      const answered = async (...queries: readonly string[]) => {
        const before = await answersOf(replicas)
        const answers = []
        for (const query of queries) answers.push(await ask(edge.port, `${LIVE}/BTC/daily${query}`))
        return {
          upstream: (await answersOf(replicas)) - before,
          rows: answers.map(({ body }) => JSON.parse(body.toString()).count),
        }
      }
      const all = 31
      t.strictSame(await answered('', '?', '?utm=1', '?a=1&b&c=', '?daysy=3&xdays=4', '?days=365'), {
        upstream: 1,
        rows: [all, all, all, all, all, all],
      })
      t.strictSame(await answered('?days=7', '?x=1&days=7', '?days=7&x=%20', '?days=7&&y'), {
        upstream: 1,
        rows: [7, 7, 7, 7],
      })
      t.strictSame(
        await answered('?days=3', '?days=3', '?days=3&days=4', '?d%61ys=7', '?x=1&days=3&d%61ys=4', '?days='),
        { upstream: 6, rows: [3, 3, undefined, 7, undefined, undefined] },
      )
    },
  )

  await t.test('a list has one copy, whatever its query', async t => {
    const before = await answersOf(replicas)
    for (const query of ['?days=1', '?days=2', '?d%61ys=1', '?x']) await ask(edge.port, `${LIVE}${query}`)
    t.equal((await answersOf(replicas)) - before, 0)
  })

  await t.test('edge and replica treat validators alike, for what is kept and what is not', async t => {
    for (const path of [LIVE, `${LIVE}/BTC/daily`, `${LIVE}/btc/daily`, `${LIVE}/BTC/daily?days=9`]) {
      const { headers } = await ask(edge.port, path)
      const [etag, date] = [String(headers.etag), String(headers['last-modified'])]
      const other = new Date(0).toUTCString()
      for (const [known, status] of [
        [{ 'if-none-match': etag, 'if-modified-since': date }, 304],
        [{ 'if-none-match': etag, 'if-modified-since': other }, 304],
        [{ 'if-none-match': etag }, 304],
        [{ 'if-none-match': '"other"', 'if-modified-since': date }, 200],
        [{ 'if-modified-since': date }, 200],
      ] as const) {
        for (const port of [edge.port, upstream.apiPort]) {
          const answer = await ask(port, path, { headers: known })
          t.equal(answer.status, status, `${path} ${JSON.stringify(known)}`)
          t.equal(answer.headers.etag, etag)
        }
      }
    }
  })

  await t.test('it answers HEAD and preflight', async t => {
    const { headers, body } = await ask(edge.port, LIVE)
    const head = await ask(edge.port, LIVE, { method: 'HEAD' })
    t.match(head, { status: 200, headers: { etag: headers.etag, 'content-length': String(body.length) } })
    const preflight = await ask(edge.port, LIVE, {
      method: 'OPTIONS',
      headers: { origin: 'https://example.org', 'access-control-request-method': 'GET' },
    })
    t.match(preflight, { status: 204, headers: { 'access-control-allow-headers': /if-none-match/i } })
  })
})
