import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { DAY_MINUTES, dateOf, minuteOf } from '@kimchi/core'
import { ask, createMemoryCgroup, startRedis } from '@kimchi/testkit'
import t from 'tap'
import { daysBefore } from './board.ts'
import { openTestWriter, startReplica } from './stack.ts'

const LIVE = '/api/v1/kimchi-premium'
const SYMBOLS = Array.from({ length: 200 }, (_, n) => `C${n}`)

/** Mebibytes that compose gives a replica. */
const SHIPPED_LIMIT = 256
/** Connections that pipeline without end and read nothing. */
const COUNT = 1_000
/** Another caller waits no longer, by the replica's processor time: the wall's clock tells of other tests as well. */
const LONGEST_WAIT_MS = 10_000

/** Floods a port, and says so when each connection was cut. */
const FLOOD = `
  const { connect } = require('node:net')
  const { parentPort, workerData: { port, count, texts } } = require('node:worker_threads')
  let cut = 0
  const open = bytes => {
    const socket = connect(port, '127.0.0.1').pause().on('error', () => {})
    const send = () => { while (socket.writable && socket.write(bytes)); }
    socket.on('connect', send).on('drain', send)
    socket.on('close', () => { cut += 1; if (cut === count) parentPort.postMessage('all are cut') })
  }
  for (let n = 0; n < count; n++) open(texts[n % texts.length])`

const KINDS = {
  'an unknown Expect': `GET ${LIVE} HTTP/1.1\r\nHost: a\r\nExpect: foo\r\n\r\n`,
  'a plain history': `GET ${LIVE}/C0/daily HTTP/1.1\r\nHost: a\r\n\r\n`,
  'the list': `GET ${LIVE} HTTP/1.1\r\nHost: a\r\n\r\n`,
  'a 304': `GET ${LIVE} HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\n\r\n`,
  'a 404': 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n',
  'a POST': `POST ${LIVE} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`,
  'a bad URL': 'GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n',
}

const redis = await startRedis(t)
const writer = await openTestWriter(t, redis.url, SYMBOLS)
const days = daysBefore(dateOf(minuteOf(Date.now()) - 9 * DAY_MINUTES), 365)
for (const day of days) await writer.importDay('C0', day)
await writer.writeMinute(minuteOf(Date.now()))

// docs/faults.md, 67
t.test(
  `${COUNT} connections that pipeline every kind of request and read nothing are cut, others answered`,
  async t => {
    const cgroup = createMemoryCgroup(t)
    cgroup?.limit(SHIPPED_LIMIT)
    const replica = await startReplica(t, redis.url, { histories: ['C0'], ...(cgroup && { cgroup }) })
    const texts = Object.values(KINDS).map(request => request.repeat(Math.ceil(65_536 / request.length)))
    // One caller comes anew each time; one was there before the flood.
    const kept = new Agent({ keepAlive: true, maxSockets: 1 })
    t.teardown(() => kept.destroy())
    const statusOf = (options = {}) =>
      ask(replica.port, LIVE, options).then(
        ({ status }) => status,
        error => error.code,
      )
    await statusOf({ agent: kept })
    const worker = new Worker(FLOOD, { eval: true, workerData: { port: replica.port, count: COUNT, texts } })
    t.teardown(() => worker.terminate())
    let isOver = false
    worker.once('message', () => {
      isOver = true
    })
    let longest = 0
    while (!isOver) {
      const asked = processorMs(replica.pid)
      const statuses = await Promise.all([statusOf(), statusOf({ agent: kept })])
      longest = Math.max(longest, processorMs(replica.pid) - asked)
      if (statuses.some(status => status !== 200)) return t.strictSame(statuses, [200, 200])
      await delay(50)
    }
    t.equal(replica.child.exitCode ?? replica.child.signalCode, null, 'the replica lives')
    t.ok(longest <= LONGEST_WAIT_MS, `within ${LONGEST_WAIT_MS} ms: ${longest}`)
    t.comment(`${longest} ms at most, ${Math.round(cgroup?.peak() ?? 0)} of ${SHIPPED_LIMIT} MB`)
  },
)

/** What a process has used of the processors. The kernel counts hundredths of a second. @see proc(5) */
function processorMs(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const fields = rest.split(' ')
  return 10 * (Number(fields[11]) + Number(fields[12]))
}
