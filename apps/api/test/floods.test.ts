import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { minuteOf } from '@kimchi/core'
import type { Teardown } from '@kimchi/testkit'
import fc from 'fast-check'
import t from 'tap'
import { GET, LIVE, openRaw } from './raw.ts'
import { ask, type Replica, startFullRedis, startReplica } from './stack.ts'

const CONNECT = 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n'

const { redis, writer } = await startFullRedis(t, 1_825, ['C0', 'C1'])

/** A replica in its own process, so that what ends it does not end the test; a fresh one where memory is measured. */
async function startTarget(t: Teardown): Promise<Replica> {
  await writer.writeMinute(minuteOf(Date.now()))
  return startReplica(t, redis.url)
}

/** Whether the process lives and answers another client; other programs may slow this machine down. */
async function isWell(replica: Replica): Promise<boolean> {
  const late = AbortSignal.timeout(60_000)
  const response = await fetch(replica.base, { signal: late }).catch((error: unknown) => error)
  const isAnswered = response instanceof Response && response.status === 200
  if (isAnswered && replica.child.exitCode === null) return true
  t.comment(response)
  return false
}

const replica = await startTarget(t)

// docs/faults.md, 67
t.test('1,300 pipelined requests, then CONNECT and more requests in one write, end nothing', async t => {
  for (let round = 0; round < 3; round++) {
    const flooding = await openRaw(replica.port, GET.repeat(1_300))
    const connecting = await openRaw(replica.port, GET.repeat(3))
    await delay(50)
    for (const { socket } of [flooding, connecting]) socket.write(CONNECT + GET.repeat(200))
    const other = await openRaw(replica.port, CONNECT + GET.repeat(200))
    t.ok(await isWell(replica), `round ${round}`)
    for (const { socket } of [flooding, connecting, other]) socket.destroy()
  }
  t.ok(await isWell(replica))
})

// docs/faults.md, 67
t.test('CONNECT, Upgrade, half requests and resets harm nobody else', async t => {
  const upgrade = `GET ${LIVE} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
  const rude = [CONNECT, upgrade, GET.slice(0, 30), 'not http at all\r\n\r\n', `${GET.repeat(300)}${CONNECT}`]
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let round = 0; round < 20; round++) {
    for (const bytes of rude) {
      const staying = connect({ port: replica.port, host: '127.0.0.1', allowHalfOpen: true })
      const resetting = await openRaw(replica.port, bytes)
      staying.on('error', () => {}).write(bytes)
      sockets.push(staying)
      if (round % 2 === 0) await delay(1)
      resetting.socket.resetAndDestroy()
    }
    t.ok(await isWell(replica), `round ${round}`)
  }
})

// docs/faults.md, 67
t.test('20 clients that ask for every route and span and read nothing cost at most 150 MB', async t => {
  const replica = await startTarget(t)
  for (let n = 0; n < 200; n++)
    await ask(n % 2 === 0 ? replica.base : `${replica.base}/C${(n % 4) >> 1}/daily`)
  const before = residentMb(replica)
  const clients = await Promise.all(Array.from({ length: 20 }, () => openRaw(replica.port)))
  t.teardown(() => {
    for (const { socket } of clients) socket.destroy()
  })
  const requests = Array.from(
    { length: 2_000 },
    (_, n) => `GET ${mixedTarget(n)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  )
  const bytes = requests.join('')
  for (const { socket } of clients) socket.pause().write(bytes)
  let highest = 0
  for (let n = 0; n < 50; n++) {
    highest = Math.max(highest, residentMb(replica))
    if (n % 10 === 0) t.ok(await isWell(replica), 'others are answered')
    await delay(50)
  }
  t.comment(`${Math.round(highest - before)} MB more than ${Math.round(before)} MB`)
  t.ok(highest - before <= 150, `${Math.round(highest - before)} MB`)
})

/** Every span of a history in turn, the list, a wrong path and wrong values. */
function mixedTarget(n: number): string {
  const others = [LIVE, '/', `${LIVE}/NONE/daily`, `${LIVE}/C1/daily?days=0`]
  return n % 5 === 4 ? `${others[(n >> 3) % 4]}` : `${LIVE}/C${n % 2}/daily?days=${(n % 3_650) + 1}`
}

// docs/faults.md, 67
t.test('2,000 random strings of bytes harm nobody', async t => {
  const parts = [
    ...[
      'GET',
      'POST',
      'CONNECT',
      'OPTIONS',
      ' ',
      '/',
      LIVE,
      '*',
      ' HTTP/1.1',
      ' HTTP/1.0',
      '\r\n',
      '\r\n\r\n',
    ],
    ...['\n', 'Host: a\r\n', 'Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', 'Upgrade: h2c\r\n'],
    ...['Connection: upgrade\r\n', 'Expect: x\r\n', '5\r\nhello\r\n', '0\r\n\r\n', '\0', 'é', GET, CONNECT],
  ].map(text => Buffer.from(text))
  const noise = fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes))
  const strings = fc.array(fc.oneof(fc.constantFrom(...parts), noise), { maxLength: 12 })
  const all = fc.sample(strings, { numRuns: 2_000, seed: 19 }).map(pieces => Buffer.concat(pieces))
  let next = 0
  const client = async () => {
    for (let bytes = all[next++]; bytes !== undefined; bytes = all[next++]) {
      const { socket, closed } = await openRaw(replica.port)
      socket.end(bytes)
      await closed
    }
  }
  await Promise.all(Array.from({ length: 40 }, client))
  t.equal(next >= all.length, true)
  t.ok(await isWell(replica))
})

function residentMb({ child }: Replica): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024
}
