import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { DAY_MINUTES, dateOf, minuteOf } from '@kimchi/core'
import { createMemoryCgroup, startRedis } from '@kimchi/testkit'
import t from 'tap'
import { daysBefore } from './board.ts'
import { ask, openTestWriter, startReplica } from './stack.ts'

const LIVE = '/api/v1/kimchi-premium'
const SYMBOLS = Array.from({ length: 200 }, (_, n) => `C${n}`)

/** Mebibytes that compose gives a replica. */
const SHIPPED_LIMIT = 256
/** Of each flood. FLOOD_SECONDS asks for longer ones, and for one of each kind alone, which takes minutes. */
const FLOOD_MS = 1_000 * Number(process.env.FLOOD_SECONDS ?? 1)
const COUNTS = process.env.FLOOD_SECONDS === undefined ? [] : [20, 200, 1_000]
/** Another caller waits no longer, whatever the flood. */
const LONGEST_WAIT_MS = 5_000
/** Beside other tests the wall's clock tells more of them than of the replica: there its own processor time counts. */
const clockOf = (pid: number) =>
  process.env.FLOOD_SECONDS === undefined ? processorMs(pid) : performance.now()

/** Clients that send without end and read nothing. */
const FLOOD = `
  const { connect } = require('node:net')
  const { workerData: { port, count, texts } } = require('node:worker_threads')
  const open = bytes => {
    const socket = connect(port, '127.0.0.1').pause().on('error', () => {})
    const send = () => { while (socket.writable && socket.write(bytes)); }
    socket.on('connect', send).on('drain', send)
  }
  for (let n = 0; n < count; n++) open(texts[n % texts.length])`

const KINDS: Readonly<Record<string, string>> = {
  'an unknown Expect': `GET ${LIVE} HTTP/1.1\r\nHost: a\r\nExpect: foo\r\n\r\n`,
  'a plain history': `GET ${LIVE}/C0/daily HTTP/1.1\r\nHost: a\r\n\r\n`,
  'the list': `GET ${LIVE} HTTP/1.1\r\nHost: a\r\n\r\n`,
  'a 304': `GET ${LIVE} HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\n\r\n`,
  'a 404': 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n',
  'a POST': `POST ${LIVE} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`,
  'a bad URL': 'GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n',
}
const KINDS_AND_COUNTS = Object.keys(KINDS).flatMap(kind => COUNTS.map(count => ({ kinds: [kind], count })))

const redis = await startRedis(t)
const writer = await openTestWriter(t, redis.url, SYMBOLS)
const days = daysBefore(dateOf(minuteOf(Date.now()) - 9 * DAY_MINUTES), 365)
for (const day of days) await writer.importDay('C0', day)
const cgroup = createMemoryCgroup(t)
cgroup?.limit(SHIPPED_LIMIT)
await writer.writeMinute(minuteOf(Date.now()))
// All floods are one replica's, which has not yet closed the connections of the last when the next begins.
const replica = await startReplica(t, redis.url, { histories: ['C0'], ...(cgroup && { cgroup }) })

// docs/faults.md, 67
for (const { kinds, count } of [...KINDS_AND_COUNTS, { kinds: Object.keys(KINDS), count: 1_000 }]) {
  t.test(
    `${count} connections that pipeline ${kinds.join(', ')} and read nothing: others are answered`,
    async t => {
      const requests = kinds.map(kind => KINDS[kind] ?? '')
      const texts = requests.map(request => request.repeat(Math.ceil(65_536 / request.length)))
      const worker = new Worker(FLOOD, { eval: true, workerData: { port: replica.port, count, texts } })
      let longest = 0
      for (const end = performance.now() + FLOOD_MS; performance.now() < end; await delay(50)) {
        const asked = clockOf(replica.pid)
        const status = await ask(replica.base).then(
          answer => answer.status,
          error => error.code,
        )
        t.equal(status, 200, 'another caller is answered')
        longest = Math.max(longest, clockOf(replica.pid) - asked)
      }
      await worker.terminate()
      t.equal(replica.child.exitCode ?? replica.child.signalCode, null, 'the replica lives')
      t.equal((await ask(replica.base)).status, 200)
      t.ok(longest <= LONGEST_WAIT_MS, `within ${LONGEST_WAIT_MS} ms: ${Math.round(longest)}`)
      t.comment(`${Math.round(longest)} ms at most, ${Math.round(cgroup?.peak() ?? 0)} MB so far`)
    },
  )
}

/** What a process has used of the processors. The kernel counts hundredths of a second. @see proc(5) */
function processorMs(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const fields = rest.split(' ')
  return 10 * (Number(fields[11]) + Number(fields[12]))
}
