import type { Socket } from 'node:net'
import { eventually } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t from 'tap'
import { fetchJson, userAgentOf } from '../src/http.ts'
import { AT, serve } from './harness.ts'

const clock = createManualClock(AT)

/** One request for what a server answers. */
function ask(url: string, signal = new AbortController().signal) {
  return fetchJson(`${url}/x`, { exchange: 'binance', userAgent: 'test' }, { clock, signal })
}

// docs/faults.md, 102
t.test('a refusal keeps its status and its time, or our own where that is longer', async t => {
  const banned = `{"code":-1003,"msg":"IP banned until ${AT + 900_000}. Use streams"}`
  for (const [status, retryAfter, body, retryAfterMs, code = 'KIMCHI_ERR_REST'] of [
    [429, '9', '{}', 9_000],
    [429, undefined, '', 1_000],
    [418, '9', '{}', 300_000],
    [418, undefined, banned, 900_000],
    [451, '9', '{}', 600_000, 'KIMCHI_ERR_GEO_BLOCKED'],
    [302, '9', '{}', 9_000],
  ] as const) {
    const headers = { Location: 'http://127.0.0.1:9/', ...(retryAfter && { 'Retry-After': retryAfter }) }
    const url = await serve(t, (_request, response) => response.writeHead(status, headers).end(body))
    await t.rejects(ask(url), { name: 'HttpError', code, status, retryAfterMs })
  }
})

// docs/faults.md, 102
t.test('a request on a kept connection that is reset just then is sent once more', async t => {
  const used = new Set<Socket>()
  let resets = 0
  let wasReset = false
  const url = await serve(t, ({ socket }, response) => {
    wasReset = used.has(socket) && !wasReset
    used.add(socket)
    if (!wasReset) return void response.end('{}')
    resets += 1
    socket.resetAndDestroy()
  })
  for (let request = 0; request < 6; request++) await ask(url)
  t.ok(resets > 0, `${resets} resets`)
})

t.test('a server that resets every connection is asked twice', async t => {
  let requests = 0
  const url = await serve(t, ({ socket }) => {
    requests += 1
    socket.resetAndDestroy()
  })
  await t.rejects(ask(url), { code: 'KIMCHI_ERR_REST' })
  t.equal(requests, 2)
})

t.test('an answer that is no JSON or too long is an error, and so is none', async t => {
  for (const [body, message] of [
    ['', /GET \/x: HTTP 200, the response is no JSON/],
    ['<html>Welcome</html>', /no JSON/],
    ['[{"symbol":"ETHU', /no JSON/],
    [' '.repeat(33_554_433), /longer than 33554432 bytes/],
  ] as const) {
    const url = await serve(t, (_request, response) => response.end(body))
    await t.rejects(ask(url), { code: 'KIMCHI_ERR_REST', message })
  }
  await t.rejects(ask('http://127.0.0.1:9'), { code: 'KIMCHI_ERR_REST', message: /binance GET \/x/ })
})

t.test('a request without an answer fails in time', async t => {
  const url = await serve(t, () => {})
  const { setTimeout } = globalThis
  // Only the request's own: the platform's client sets timers too.
  const setSooner = (run: (...args: unknown[]) => void, ms: number, ...args: unknown[]) =>
    setTimeout(run, ms === 10_000 ? 100 : ms, ...args)
  t.intercept(globalThis, 'setTimeout', { value: setSooner })
  await t.rejects(ask(url), { code: 'KIMCHI_ERR_REST', message: /GET \/x: no answer within 10000 ms/ })
})

t.test('a request ends at once when aborted', async t => {
  let requests = 0
  const url = await serve(t, () => {
    requests += 1
  })
  const stop = new AbortController()
  const aborted = ask(url, stop.signal)
  await eventually('the request', () => requests === 1)
  stop.abort()
  await t.rejects(aborted, { code: 'KIMCHI_ERR_REST', message: /aborted/ })
  await t.rejects(ask(url, stop.signal), { code: 'KIMCHI_ERR_REST', message: /aborted/ })
  t.equal(requests, 1)
})

t.test('our name is followed by its version and, where there is one, an address', async t => {
  t.equal(userAgentOf('1.2.3', 'https://x.test'), 'kimchi-premium/1.2.3 (+https://x.test)')
  t.equal(userAgentOf('1.2.3', ''), 'kimchi-premium/1.2.3')
})
