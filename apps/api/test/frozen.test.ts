import type { AddressInfo } from 'node:net'
import { createServer, connect as dial, type Socket } from 'node:net'
import { type Clock, minuteOf } from '@kimchi/core'
import { createLogger, systemClock } from '@kimchi/runtime'
import { startRedis } from '@kimchi/testkit'
import t from 'tap'
import { readConfig } from '../src/config.ts'
import { startApi } from '../src/start.ts'
import { ask, eventually, openTestWriter } from './stack.ts'

const dueAt = (minute: number) => minute * 60_000 + 63_000

const cases: readonly [title: string, connections: number, due: 'soon' | 'just polled'][] = [
  ['the subscription', 1, 'soon'],
  ['every connection', 2, 'soon'],
  ['every connection just after a poll', 2, 'just polled'],
]

for (const [title, connections, due] of cases) {
  t.test(`${title} frozen, not closed, costs at most three seconds`, async t => {
    const redis = await startRedis(t)
    const writer = await openTestWriter(t, redis.url)
    const minute = minuteOf(Date.now())
    await writer.writeMinute(minute)
    const proxy = await openProxy(t, redis.port)
    // For the API the next minute is due in a second.
    const ahead = dueAt(minute) - 1_000 - Date.now()
    const clock: Clock = { now: () => Date.now() + ahead, wait: systemClock.wait }
    const url = `redis://127.0.0.1:${proxy.port}`
    const config = readConfig({ REDIS_URL: url, HOST: '127.0.0.1', PORT: '0', OPS_PORT: '0' })
    const api = await startApi(config, { log: createLogger('api', 'silent'), clock, version: 'test' })
    t.teardown(() => api.close())
    const base = `http://127.0.0.1:${api.port}/api/v1/kimchi-premium`
    const refreshes = async () =>
      Number(/refreshes_total (\d+)/.exec((await ask(`http://127.0.0.1:${api.opsPort}/metrics`)).body)?.[1])
    const { headers } = await ask(base)
    await eventually('both connections', () => proxy.connections() === 2 || undefined)
    if (due === 'just polled') {
      await eventually(
        'the poll',
        async () => (clock.now() > dueAt(minute) && (await refreshes()) > 1) || undefined,
      )
    }
    proxy.freeze(connections)
    await writer.writeMinute(minute + 1)
    const start = performance.now()
    await eventually('the next minute', async () =>
      (await ask(base)).headers.etag === headers.etag ? undefined : true,
    )
    t.ok(performance.now() - start < 3_000, `${Math.round(performance.now() - start)} ms`)
  })
}

/** Lies between a client and a server, and can stop passing anything on while all connections stay open. */
async function openProxy(t: { teardown(close: () => unknown): void }, target: number) {
  const pairs: [client: Socket, server: Socket][] = []
  const server = createServer(client => {
    const upstream = dial(target, '127.0.0.1')
    client.pipe(upstream).pipe(client)
    for (const socket of [client, upstream]) socket.on('error', () => {})
    pairs.push([client, upstream])
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of pairs.flat()) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => pairs.length,
    /** Freezes the newest connections. */
    freeze: (count: number) => {
      for (const [client, upstream] of pairs.slice(-count)) {
        client.unpipe(upstream).pause()
        upstream.unpipe(client).pause()
      }
    },
  }
}
