import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { ask, createMemoryCgroup } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { GET, LIVE } from './raw.ts'
import { type Replica, startFullRedis, startReplica } from './stack.ts'

/** Mebibytes that compose gives a replica. */
const SHIPPED_LIMIT = 256
/** Connections that come again as soon as they are cut. */
const COMING_AGAIN = 40
/** Another caller waits no longer, by the replica's processor time: the wall's clock tells of other tests as well. */
const LONGEST_WAIT_MS = 10_000
/** By the wall's clock. */
const GIVEN_UP_AFTER_MS = 30_000

/** Floods a port, and says so when as many connections were cut as there were at first. */
const FLOOD = `
  const { connect } = require('node:net')
  const { parentPort, workerData: { port, count, texts, comesAgain, before } } = require('node:worker_threads')
  let cut = 0
  const open = bytes => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    const send = () => { while (socket.writable && socket.write(bytes)); }
    const flood = () => { socket.pause().on('drain', send); send() }
    if (before) socket.once('connect', () => socket.write(before)).once('data', flood)
    else socket.once('connect', flood)
    socket.on('close', () => {
      cut += 1
      if (cut === count) parentPort.postMessage('all are cut')
      if (comesAgain) setImmediate(open, bytes)
    })
  }
  for (let n = 0; n < count; n++) open(texts[n % texts.length])`

const KINDS = {
  'an unknown Expect': `GET ${LIVE} HTTP/1.1\r\nHost: a\r\nExpect: foo\r\n\r\n`,
  'a plain history': `GET ${LIVE}/C0/daily HTTP/1.1\r\nHost: a\r\n\r\n`,
  'the list': GET,
  'a 304': `GET ${LIVE} HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\n\r\n`,
  'a 404': 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n',
  'a POST': `POST ${LIVE} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`,
  'a bad URL': 'GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n',
}

const { redis } = await startFullRedis(t, 365)

// docs/faults.md, 67
for (const [who, before, count] of [
  ['pipeline every kind of request', '', 1_000],
  ['do so after a first answer', GET, 200],
] as const) {
  t.test(`${count} connections that ${who} and read nothing are cut, others answered`, async t => {
    const cgroup = createMemoryCgroup(t)
    cgroup?.limit(SHIPPED_LIMIT)
    const replica = await startReplica(t, redis.url, { histories: ['C0'], ...(cgroup && { cgroup }) })
    const askBoth = await openCallers(t, replica)
    const flood = startFlood(t, replica.port, { count, before })
    let isOver = false
    flood.once('message', () => {
      isOver = true
    })
    while (!isOver) await askBoth()
    t.equal(replica.child.exitCode ?? replica.child.signalCode, null, 'the replica lives')
    t.comment(`${Math.round(cgroup?.peak() ?? 0)} of ${SHIPPED_LIMIT} MB`)
  })

  t.test(`${COMING_AGAIN} that ${who}, and come again when they are cut, keep nobody out`, async t => {
    const replica = await startReplica(t, redis.url, { histories: ['C0'] })
    const askBoth = await openCallers(t, replica)
    const flood = startFlood(t, replica.port, { count: COMING_AGAIN, before, comesAgain: true })
    await once(flood, 'message')
    for (let n = 0; n < 5; n++) await askBoth()
  })
}

function startFlood(t: Test, port: number, flood: { count: number; before: string; comesAgain?: boolean }) {
  const texts = Object.values(KINDS).map(request => request.repeat(Math.ceil(65_536 / request.length)))
  const worker = new Worker(FLOOD, { eval: true, workerData: { port, texts, ...flood } })
  t.teardown(() => worker.terminate())
  return worker
}

/** Has a caller that comes anew and one that was there before the flood ask, and demands answers in time. */
async function openCallers(t: Test, { port, pid }: Replica) {
  const kept = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => kept.destroy())
  const statusOf = (options = {}) =>
    ask(port, LIVE, { ...options, signal: AbortSignal.timeout(GIVEN_UP_AFTER_MS) }).then(
      ({ status }) => status,
      error => error.code,
    )
  await statusOf({ agent: kept })
  let longest = 0
  t.teardown(() => t.comment(`${longest} ms at most`))
  return async () => {
    const asked = processorMs(pid)
    t.strictSame(await Promise.all([statusOf(), statusOf({ agent: kept })]), [200, 200])
    const waited = processorMs(pid) - asked
    t.ok(waited <= LONGEST_WAIT_MS, `within ${LONGEST_WAIT_MS} ms: ${waited}`)
    longest = Math.max(longest, waited)
    await delay(50)
  }
}

/** What a process has used of the processors. The kernel counts hundredths of a second. @see proc(5) */
function processorMs(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const fields = rest.split(' ')
  return 10 * (Number(fields[11]) + Number(fields[12]))
}
