import { readFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { minuteOf } from '@kimchi/core'
import { ask, eventually, type RawResponse } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { lacksNginx as skip } from '../src/edge.ts'
import {
  LIVE,
  openEdgeStack,
  type Replica,
  type UpstreamRequest,
  upstreamRequests,
} from './support/edge-stack.ts'

// docs/faults.md, 33
t.test(
  'no request fails under load when a replica is killed and all are restarted in turn',
  { skip },
  async t => {
    const { edge, replicas } = await openEdgeStack(t, { minute: minuteOf(Date.now()), perSecond: 100_000 })
    const load = startLoad(edge.port)
    const [first, second] = replicas
    if (first === undefined || second === undefined) throw new Error('two replicas are needed')

    await first.process.end('SIGKILL')
    await delay(500)
    await first.start()
    for (const replica of [second, first]) {
      t.equal(await replica.process.end('SIGTERM'), 0)
      await replica.start()
    }

    const statuses = await load.end()
    t.comment(`${statuses.length} requests that reached a replica`)
    t.ok(statuses.length > 500)
    t.notMatch(await readFile(edge.log, 'utf8'), /client: /, 'nobody is written down')
    t.strictSame(new Set(statuses), new Set([200]))
  },
)

t.test('replicas come and go by name without a reload, and no request fails', { skip }, async t => {
  const { edge, replicas } = await openEdgeStack(t, { minute: minuteOf(Date.now()), perSecond: 100_000 })
  const [first, second] = replicas.map(({ address }) => address) as [string, string]
  const load = startLoad(edge.port)
  t.teardown(load.end)
  for (const some of [[first], [first, second], [second]]) await edge.scale(some)
  const asked = async () => new Set((await upstreamRequests(edge)).slice(-20).map(({ upstream }) => upstream))
  const isOnlySecond = async () => {
    const upstreams = [...(await asked())]
    return upstreams.length === 1 && upstreams[0]?.startsWith(second)
  }
  // A lost answer of the name server costs nginx its resolver_timeout of 30 s.
  await eventually('only the second is asked', isOnlySecond)
  t.strictSame(new Set(await load.end()), new Set([200]))
})

t.test('a replica that hangs costs a caller 3 s, and is not asked again for 10 s', { skip }, async t => {
  const { edge, replicas } = await openEdgeStack(t, { minute: minuteOf(Date.now()), perSecond: 100_000 })
  const hung = replicas[0] as Replica
  const load = startLoad(edge.port)
  const stoppedAt = Date.now()
  process.kill(hung.process.pid, 'SIGSTOP')
  await delay(9_000)
  t.strictSame(new Set(await load.end()), new Set([200]))
  const asked = await upstreamRequests(edge)
  const slow = asked.filter(({ seconds }) => Number(seconds) >= 1)
  t.comment(`${slow.length} of ${asked.length} requests waited`)
  t.ok(slow.length > 0)
  const startOf = ({ time, seconds }: UpstreamRequest) => Date.parse(time) - Number(seconds) * 1_000
  // Logged by whole seconds.
  t.strictSame(
    slow.filter(request => Number(request.seconds) >= 4 || startOf(request) > stoppedAt + 4_000),
    [],
  )
})

t.test(
  'without any replica the edge serves its last copy, or a 503 in JSON where it has none',
  { skip },
  async t => {
    // Overdue already, so that its copy is good for five seconds at most.
    const { edge, replicas } = await openEdgeStack(t, { minute: minuteOf(Date.now()) - 2 })
    const { headers } = await ask(edge.port, LIVE)
    await Promise.all(replicas.map(replica => replica.process.end('SIGKILL')))
    const stale = await eventually('the copy is too old', async () => {
      const answer = await ask(edge.port, LIVE)
      return (await upstreamRequests(edge)).some(({ cache }) => cache === 'STALE') ? answer : undefined
    })
    t.match(stale, { status: 200, headers: { etag: headers.etag, date: headers.date } }, 'with its old Date')
    checkUnavailable(t, await ask(edge.port, `${LIVE}/BTC/daily`))
    await Promise.all(replicas.map(replica => replica.start()))
    const fresh = await ask(edge.port, LIVE)
    t.not(fresh.headers.date, headers.date, 'the first request after they are back gets a new one')
  },
)

function checkUnavailable(t: Test, { status, headers, body }: RawResponse) {
  t.equal(status, 503)
  t.match(headers, {
    'access-control-allow-origin': '*',
    'cache-control': 'no-store',
    'content-type': /^application\/json/,
    'retry-after': '5',
  })
  t.match(JSON.parse(body.toString()), { result: 'error', code: 'unavailable' })
}

/** Clients that ask for what no copy is there of, so that every request needs a replica. */
function startLoad(port: number) {
  const statuses: (number | string)[] = []
  let isOver = false
  let days = 0
  const runClient = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!isOver) {
      days = (days % 3_650) + 1
      const path = `${LIVE}/BTC/daily?days=${days}`
      await ask(port, path, { agent }).then(
        ({ status }) => statuses.push(status),
        error => statuses.push(String(error)),
      )
      await delay(50)
    }
    agent.destroy()
  }
  const clients = Array.from({ length: 20 }, runClient)
  return {
    async end() {
      isOver = true
      await Promise.all(clients)
      return statuses
    },
  }
}

// docs/faults.md, 74
t.test('an edge that is cut off from its replicas says how old its list is', { skip }, async t => {
  const { edge, replicas } = await openEdgeStack(t, { minute: minuteOf(Date.now()) - 5, replicas: 1 })
  const age = async () => {
    const text = (await ask(edge.opsPort, '/metrics')).body.toString()
    return /^kimchi_edge_list_age_seconds (\S+)$/m.exec(text)?.[1]
  }
  const isOld = (seconds: string | undefined) => Number(seconds) >= 300 && Number(seconds) < 400
  const before = await age()
  t.ok(isOld(before), `${before} s with its replica`)
  t.equal((await ask(edge.port, LIVE)).status, 200)
  await replicas[0]?.process.end('SIGKILL')
  t.equal((await ask(edge.port, LIVE)).status, 200, 'callers get the old list')
  t.ok(isOld(await age()), 'and it says so')
})

t.test('an edge without any list says so', { skip }, async t => {
  const { edge } = await openEdgeStack(t, { replicas: 1 })
  const text = (await ask(edge.opsPort, '/metrics')).body.toString()
  t.match(text, /^kimchi_edge_list_age_seconds \+Inf$/m)
  t.equal((await ask(edge.port, LIVE)).status, 503)
  const counted = (await ask(edge.opsPort, '/metrics')).body.toString()
  t.match(counted, /^kimchi_edge_requests_total\{route="live",status="503",cache="\w+"\} 1$/m)
  t.match(counted, /^kimchi_edge_sent_bytes_total\{route="live"\} \d+$/m)
})
