import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { announce } from '../src/announce.ts'

/** Answers every request with the given value. */
async function serve(t: Test, answer: () => unknown): Promise<number> {
  const server = createServer((_request, response) => response.end(JSON.stringify(answer())))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** Announces a stack; `next` waits for another question to the API. */
async function start(t: Test, state: { count: number; reasons: string[] }) {
  let asked = () => {}
  const lines: string[] = []
  const list = () => ({
    result: 'ok',
    updated_at: '2026-11-21T13:05:00',
    count: state.count,
    data: [{ symbol: 'BTC', premium_pct: 1.2341 }],
  })
  const api = await serve(t, () => {
    asked()
    return list()
  })
  const ops = await serve(t, () => ({ reasons: state.reasons }))
  const ending = new AbortController()
  const done = announce({
    mode: 'demo',
    ports: { api, apiOps: ops, ingesterOps: ops },
    redisCli: undefined,
    dataDir: '.data',
    note: 'Port 3000 taken by other programs: a free one is used instead.',
    say: line => lines.push(line),
    signal: ending.signal,
  })
  t.teardown(() => ending.abort())
  const next = () =>
    new Promise<void>(resolve => {
      asked = resolve
    })
  return { lines, done, next }
}

t.test('announces the first prices once every coin has one', async t => {
  const state = { count: 4, reasons: ['no minute was written yet'] }
  const { lines, done, next } = await start(t, state)
  await next()
  state.count = 10
  await done
  t.equal(lines.at(-1), 'First prices, 2026-11-21T13:05:00 UTC: 10 coins, BTC 1.2341 %')
  t.equal(lines.filter(line => line.includes('taken')).length, 1)
})

t.test('does not announce prices of an earlier run while the ingester is not ready', async t => {
  const state = { count: 10, reasons: ['the catalogue is not loaded'] }
  const { lines, done, next } = await start(t, state)
  for (let times = 0; times < 3; times += 1) await next()
  t.notOk(lines.some(line => line.startsWith('First prices')))
  state.reasons = []
  await done
  t.match(lines.at(-1), /^First prices/)
})
