import { getEventListeners } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listen } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { createClient } from '../src/index.ts'

type Respond = (request: IncomingMessage, response: ServerResponse) => void

/** A client of a real server. */
async function clientOf(t: Test, answer: Respond, timeoutMs = 10_000) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
  const baseUrl = `http://127.0.0.1:${await listen(t, server)}/api/v1/`
  return { asked, client: createClient({ baseUrl, timeoutMs }) }
}

const json = (status: number, body: unknown, headers = {}): Respond => {
  return (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

t.test('asks the two routes and gives what they answer', async t => {
  const body = { result: 'ok', updated_at: '2026-11-20T13:05:00', count: 0, note: '', data: [] }
  const { client, asked } = await clientOf(t, json(200, body))
  t.strictSame(await client.live(), body)
  await client.daily('BTC')
  await client.daily('BTC', { days: 30, signal: undefined })
  t.strictSame(asked, [
    'GET /api/v1/kimchi-premium',
    'GET /api/v1/kimchi-premium/BTC/daily',
    'GET /api/v1/kimchi-premium/BTC/daily?days=30',
  ])
})

t.test('refuses a timeoutMs that is no time by its value', async t => {
  for (const timeoutMs of [Number.NaN, -1]) {
    t.throws(() => createClient({ baseUrl: 'http://a', timeoutMs }), {
      message: new RegExp(`got: ${timeoutMs}$`),
    })
  }
})

t.test('refuses what is no symbol without asking', async t => {
  const { client, asked } = await clientOf(t, json(200, {}))
  for (const symbol of ['..', '.', '', 'a/b', 'BTC?days=1', 'B'.repeat(21)]) {
    await t.rejects(client.daily(symbol), { name: 'ApiError', code: 'invalid_symbol', status: undefined })
  }
  t.strictSame(asked, [])
})

t.test('waits without end when it is told to', async t => {
  const { client } = await clientOf(t, json(200, { result: 'ok', data: [] }), Number.POSITIVE_INFINITY)
  t.match(await client.live(), { result: 'ok' })
})

t.test('an error of the API has its code, message and Retry-After', async t => {
  const body = { result: 'error', code: 'not_ready', message: 'nothing yet' }
  const { client } = await clientOf(t, json(503, body, { 'retry-after': '5' }))
  await t.rejects(client.live(), {
    name: 'ApiError',
    code: 'not_ready',
    message: 'nothing yet',
    status: 503,
    retryAfterMs: 5_000,
  })
})

t.test('a proxy’s page and data of another shape are bad answers', async t => {
  const { client } = await clientOf(t, (_request, response) => {
    response.writeHead(502, { 'retry-after': '90' }).end('<h1>Bad gateway</h1>')
  })
  const error = await client.live().catch(error => error)
  t.match(error, { code: 'bad_answer', status: 502, message: /answered 502/, retryAfterMs: 90_000 })
  const other = await clientOf(t, json(200, { result: 'ok' }))
  await t.rejects(other.client.live(), { code: 'bad_answer', status: 200 })
})

t.test('no answer in time is unreachable, like no server', async t => {
  const { client } = await clientOf(t, () => {}, 300)
  await t.rejects(client.live(), { code: 'unreachable', status: undefined })
  const gone = createClient({ baseUrl: 'http://127.0.0.1:9/api/v1' })
  await t.rejects(gone.daily('BTC'), { code: 'unreachable' })
})

t.test('an abort ends a request with its reason', async t => {
  const abort = new AbortController()
  const { client } = await clientOf(t, () => abort.abort(new Error('enough')))
  await t.rejects(client.live({ signal: abort.signal }), { message: 'enough' })
})

t.test('leaves nothing behind on a signal that lives on', async t => {
  const { client } = await clientOf(t, json(200, { result: 'ok', data: [] }))
  const { signal } = new AbortController()
  for (let request = 0; request < 3; request++) await client.live({ signal })
  t.strictSame(getEventListeners(signal, 'abort'), [])
  const dependants = Object.getOwnPropertySymbols(signal).filter(key => /dependant/i.test(String(key)))
  t.strictSame(
    dependants.flatMap(key => [...(Reflect.get(signal, key) ?? [])]),
    [],
    'nor a dependant',
  )
})

t.test('outside a browser the base URL must be whole', async t => {
  t.throws(() => createClient(), {
    message: 'baseUrl must be a whole URL outside of a browser, got: /api/v1',
  })
  t.ok(createClient({ baseUrl: 'HTTPS://premium.example/api/v1' }), 'whose scheme may have any case')
})

t.test('in Deno, whose location is undefined, too', async t => {
  Object.defineProperty(globalThis, 'location', { value: undefined, configurable: true })
  t.teardown(() => Reflect.deleteProperty(globalThis, 'location'))
  t.throws(() => createClient(), TypeError)
})
