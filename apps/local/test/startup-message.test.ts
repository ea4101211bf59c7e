import { createServer } from 'node:http'
import { systemClock } from '@kimchi/runtime'
import { listen } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { showStartupMessage } from '../src/startup-message.ts'

const MINUTE = Date.UTC(2026, 10, 21, 13, 5)

/**
 * Shows the addresses of a stack that started so long after the newest minute; `next` waits for another question to
 * the API.
 */
async function start(t: Test, startedAfterMs: number, state: { list?: object } = {}) {
  let asked = () => {}
  const lines: string[] = []
  const server = createServer((_request, response) => {
    asked()
    response.end(JSON.stringify(state.list ?? LIST))
  })
  const api = await listen(t, server)
  const ending = new AbortController()
  const done = showStartupMessage({
    mode: 'demo',
    page: 'http://127.0.0.1:8080/',
    api: `http://127.0.0.1:${api}`,
    ports: { apiOps: 9_464, ingesterOps: 9_465 },
    redisCli: "'/a folder/redis-cli' -p 6379",
    dataDir: '.data',
    say: line => lines.push(line),
    clock: {
      now: () => MINUTE + startedAfterMs,
      elapsed: () => performance.now() * 50,
      wait: (ms, ending) => systemClock.wait(ms / 50, ending),
    },
    signal: ending.signal,
  })
  t.teardown(() => ending.abort())
  const next = () =>
    new Promise<void>(resolve => {
      asked = resolve
    })
  return { lines, done, next }
}

const LIST = {
  result: 'ok',
  updated_at: '2026-11-21T13:05:00',
  count: 10,
  data: [{ symbol: 'BTC', premium_pct: 1.2341 }],
}

t.test('labels the addresses, and shows the list at once', async t => {
  const { lines, done } = await start(t, 118_000)
  await done
  t.ok(lines.includes('  Page    http://127.0.0.1:8080/'))
  t.ok(lines.includes("  Redis   '/a folder/redis-cli' -p 6379 fcall_ro kp_status 1 '{kp}:meta'"))
  t.equal(lines.at(-1), 'First prices, 2026-11-21T13:05:00 UTC: 10 coins, BTC 1.2341 %')
})

t.test('does not show prices of an earlier run', async t => {
  const state: { list?: object } = {}
  const { lines, done, next } = await start(t, 180_000, state)
  for (let times = 0; times < 3; times += 1) await next()
  t.notOk(lines.some(line => line.startsWith('First prices')))
  state.list = { ...LIST, updated_at: '2026-11-21T13:07:00' }
  await done
  t.match(lines.at(-1), /^First prices, 2026-11-21T13:07:00 UTC/)
})
