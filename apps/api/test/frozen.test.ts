import { createServer, connect as dial, type Socket } from 'node:net'
import { type Clock, minuteOf } from '@kimchi/core'
import { systemClock } from '@kimchi/runtime'
import { eventually, listen, startRedis, type Teardown } from '@kimchi/testkit'
import t from 'tap'
import { ask, openTestWriter, startTestApi } from './stack.ts'

const dueAt = (minute: number) => minute * 60_000 + 63_000

type Part = 'the subscription' | 'every connection'

for (const part of ['the subscription', 'every connection'] as const) {
  // docs/faults.md, 48
  t.test(`${part} frozen, not closed, costs at most three seconds`, async t => {
    const redis = await startRedis(t)
    const writer = await openTestWriter(t, redis.url)
    const minute = minuteOf(Date.now())
    await writer.writeMinute(minute)
    const proxy = await openProxy(t, redis.port)
    // For the API the next minute is due in a second.
    const ahead = dueAt(minute) - 1_000 - Date.now()
    const clock: Clock = { ...systemClock, now: () => Date.now() + ahead }
    const url = `redis://127.0.0.1:${proxy.port}`
    const { base } = await startTestApi(t, url, { clock })
    const { headers } = await ask(base)
    await eventually('the subscription', () => proxy.isSubscribed())
    // The worst moment: the next poll comes two seconds later.
    if (part === 'every connection') {
      await eventually('the poll', () => clock.now() > dueAt(minute) && proxy.reads() > 1)
    }
    proxy.freeze(part)
    await writer.writeMinute(minute + 1)
    const start = performance.now()
    const heldUp = countHeldUp(t)
    const isNew = async () => (await ask(base)).headers.etag !== headers.etag
    await eventually('the next minute', isNew, 60_000, 10)
    const tookMs = performance.now() - start - heldUp()
    t.ok(tookMs < 3_000, `${Math.round(tookMs)} ms`)
  })
}

/** How long the machine has kept this process, the API in it, from running: that is not the API's delay. */
function countHeldUp(t: Teardown): () => number {
  const everyMs = 10
  let [last, sum] = [performance.now(), 0]
  const timer = setInterval(() => {
    const now = performance.now()
    const lateMs = now - last - everyMs
    if (lateMs > everyMs) sum += lateMs
    last = now
  }, everyMs)
  t.teardown(() => clearInterval(timer))
  return () => sum
}

/** Sits between a client and a server, and can stop forwarding while all connections stay open. */
async function openProxy(t: Teardown, target: number) {
  const links: { readonly client: Socket; readonly upstream: Socket; subscribes: boolean }[] = []
  let reads = 0
  const server = createServer(client => {
    const upstream = dial(target, '127.0.0.1')
    const link = { client, upstream, subscribes: false }
    links.push(link)
    client.on('data', sent => {
      link.subscribes ||= /\bs?subscribe\b/i.test(String(sent))
      if (/\bkp_read\b/.test(String(sent))) reads += 1
    })
    client.pipe(upstream).pipe(client)
    for (const socket of [client, upstream]) socket.on('error', () => {})
  })
  t.teardown(() => {
    for (const { client, upstream } of links) {
      client.destroy()
      upstream.destroy()
    }
  })
  return {
    port: await listen(t, server),
    /** How often the live list was read. */
    reads: () => reads,
    isSubscribed: () => links.some(({ subscribes }) => subscribes),
    freeze: (part: Part) => {
      for (const { client, upstream, subscribes } of links) {
        if (part === 'the subscription' && !subscribes) continue
        client.unpipe(upstream).pause()
        upstream.unpipe(client).pause()
      }
    },
  }
}
