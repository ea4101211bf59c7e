import { readFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { minuteOf, minuteStart } from '@kimchi/core'
import { ask, eventually, type RawResponse } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import type { Replica } from '../src/apps.ts'
import { openEdge, lacksNginx as skip } from '../src/edge.ts'
import {
  LIVE,
  metricsOf,
  metricsWith,
  openReplicas,
  type UpstreamRequest,
  upstreamRequests,
} from './support/edge-stack.ts'

t.test('while replicas come and go', { skip }, async t => {
  // Overdue, so that a copy is good for five seconds; then two more by stale-while-revalidate.
  const minute = minuteOf(Date.now()) - 5
  const { replicas, ...upstream } = await openReplicas(t, { minute })
  const [first, second] = replicas as [Replica, Replica]
  const openLoaded = async (t: Test, clients: number) => {
    const edge = await openEdge(t, { ...upstream, perSecond: 100_000 })
    return { edge, load: startLoad(t, edge.port, clients) }
  }

  // docs/faults.md, 33
  await t.test('no request fails when a replica is killed and all are restarted in turn', async t => {
    const { edge, load } = await openLoaded(t, 20)
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
  })

  await t.test('no request fails when replicas come and go by name, without a reload', async t => {
    const { edge, load } = await openLoaded(t, 5)
    for (const some of [[first], [first, second], [second]])
      await edge.scale(some.map(({ address }) => address))
    const isOnlySecond = async () => {
      const asked = (await upstreamRequests(edge)).slice(-20)
      return asked.every(({ upstream }) => upstream.startsWith(`${second.address}:`))
    }
    await eventually('only the second is asked', isOnlySecond)
    t.strictSame(new Set(await load.end()), new Set([200]))
  })

  // docs/faults.md, 33
  await t.test('no request fails when a replica hangs and its name forgets it meanwhile', async t => {
    const { edge, load } = await openLoaded(t, 5)
    const [hanging, other] = [first, second]
    process.kill(hanging.process.pid, 'SIGSTOP')
    await edge.scale([other.address])
    await delay(4_000)
    const statuses = await load.end()
    process.kill(hanging.process.pid, 'SIGCONT')
    t.strictSame(new Set(statuses), new Set([200]))
    const answered = async () => {
      const counts = (await metricsOf(edge)).matchAll(/^kimchi_edge_requests_total\{route="daily".* (\d+)$/gm)
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
    }
    await eventually('all are counted', async () => (await answered()) >= statuses.length)
    t.equal(await answered(), statuses.length, 'a request that was tried twice is one of a caller')
  })

  await t.test(
    'while one hangs another answers requests with a date; if that is dead, 503 in JSON',
    async t => {
      const edge = await openEdge(t, { ...upstream, perSecond: 100_000 })
      const askAll = (headers = {}) =>
        Promise.all([1, 2, 3, 4].map(days => ask(edge.port, `${LIVE}/BTC/daily?days=${days}`, { headers })))
      process.kill(first.process.pid, 'SIGSTOP')
      const dated = await askAll({ 'if-modified-since': new Date().toUTCString() })
      t.strictSame(new Set(dated.map(({ status }) => status)), new Set([200]))
      await second.process.end('SIGKILL')
      for (const answer of await askAll()) checkUnavailable(t, answer)
      process.kill(first.process.pid, 'SIGCONT')
      await second.start()
    },
  )

  await t.test(
    'no request fails when a replica hangs: a caller waits 3 s, and it is not asked again for 10 s',
    async t => {
      const { edge, load } = await openLoaded(t, 5)
      const stoppedAt = Date.now()
      process.kill(first.process.pid, 'SIGSTOP')
      await delay(9_000)
      t.strictSame(new Set(await load.end()), new Set([200]))
      process.kill(first.process.pid, 'SIGCONT')
      const asked = await upstreamRequests(edge)
      const hung = asked.filter(({ upstream }) => upstream.startsWith(`${first.address}:`))
      const slow = hung.filter(({ seconds }) => Number(seconds) >= 1)
      // What the other replica takes by itself, on a busy machine.
      const other = asked.filter(request => !hung.includes(request)).map(({ seconds }) => Number(seconds))
      const longest = 4 + Math.max(...other)
      t.comment(`${slow.length} of ${asked.length} requests waited`)
      t.ok(slow.length > 0)
      const startOf = ({ time, seconds }: UpstreamRequest) => Date.parse(time) - Number(seconds) * 1_000
      // Logged by whole seconds.
      t.strictSame(
        slow.filter(request => Number(request.seconds) >= longest || startOf(request) > stoppedAt + 4_000),
        [],
      )
    },
  )

  const edge = await openEdge(t, { ...upstream, perSecond: 100_000 })
  // docs/faults.md, 74
  const saysHowOld = async (when: string) => {
    const seconds = () => (Date.now() - minuteStart(minute)) / 1_000
    const asked = seconds()
    const text = await metricsOf(edge)
    const age = Number(/^kimchi_edge_list_age_seconds (\S+)$/m.exec(text)?.[1])
    t.ok(age > asked - 1 && age < seconds() + 1, `the edge says ${age} s ${when}`)
  }
  await saysHowOld('with its replicas')

  await t.test('many requests at once for a copy that is out of date cost one upstream request', async t => {
    await ask(edge.port, LIVE)
    // nginx counts in whole seconds: after the fifth the copy is old, and may be given for two more.
    const expiresAt = Math.floor(Date.now() / 1_000) * 1_000 + 6_000
    await delay(expiresAt + 50 - Date.now())
    const from = (await upstreamRequests(edge)).length
    // Until all others are answered: a worker process that has just looked at the old copy when the other one puts
    // the new one into its place asks again.
    for (const { process: replica } of replicas) process.kill(replica.pid, 'SIGSTOP')
    let answered = 0
    const all = Array.from({ length: 100 }, async () => {
      const { status } = await ask(edge.port, LIVE)
      answered += 1
      return status
    })
    await eventually('all others have the old copy', () => answered >= all.length - 1)
    for (const { process: replica } of replicas) process.kill(replica.pid, 'SIGCONT')
    t.strictSame(new Set(await Promise.all(all)), new Set([200]))
    const asked = await eventually('it is logged', async () => {
      const requests = (await upstreamRequests(edge)).slice(from)
      return requests.length > 0 && requests
    })
    t.equal(asked.length, 1, 'one upstream request', { asked })
  })

  await t.test('without any replica a copy is served, or a 503 in JSON where there is no copy', async t => {
    const { headers } = await ask(edge.port, LIVE)
    const from = (await upstreamRequests(edge)).length
    await Promise.all(replicas.map(replica => replica.process.end('SIGKILL')))
    const stale = await eventually('the copy is too old', async () => {
      const answer = await ask(edge.port, LIVE)
      return (await upstreamRequests(edge)).slice(from).some(({ cache }) => cache === 'STALE')
        ? answer
        : undefined
    })
    t.match(stale, { status: 200, headers: { etag: headers.etag } })
    const [, maxAge] = /^public, max-age=(\d), stale-while-revalidate=2, stale-if-error=600$/.exec(
      String(stale.headers['cache-control']),
    ) as unknown as [string, string]
    t.ok(Number(maxAge) <= 5, 'for as long as an overdue list is good')
    await saysHowOld('cut off from its replicas')
    checkUnavailable(t, await ask(edge.port, `${LIVE}/BTC/daily`))
    await Promise.all(replicas.map(replica => replica.start()))
    t.equal((await ask(edge.port, LIVE)).status, 200)
    const renewed = () => upstreamRequests(edge).then(all => all.at(-1)?.cache === 'EXPIRED')
    await eventually('the first request after they are back gets a new one', renewed)
  })
})

t.test('an edge without any list says so', { skip }, async t => {
  const edge = await openEdge(t, await openReplicas(t, { replicas: 1 }))
  const text = await metricsOf(edge)
  t.match(text, /^kimchi_edge_list_age_seconds \+Inf$/m)
  t.equal((await ask(edge.port, LIVE)).status, 503)
  const isCounted = /^kimchi_edge_requests_total\{route="live",status="503",cache="\w+"\} 1$/m
  const counted = await metricsWith(edge, isCounted)
  t.match(counted, /^kimchi_edge_sent_bytes_total\{route="live"\} \d+$/m)
})

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
function startLoad(t: Test, port: number, clients: number) {
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
      await delay(100)
    }
    agent.destroy()
  }
  const all = Array.from({ length: clients }, runClient)
  const end = async () => {
    isOver = true
    await Promise.all(all)
    return statuses
  }
  t.teardown(end)
  return { end }
}
