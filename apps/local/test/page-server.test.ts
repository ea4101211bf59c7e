import { createServer } from 'node:http'
import { listen } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { startPageServer } from '../src/page-server.ts'

/** A page in front of an API that echoes each request. */
async function openPage(t: Test) {
  const dir = t.testdir({
    'index.html': '<title>page</title><meta content="https://premium.example/og.png">',
    'reference.ko.html': '<pre>curl https://premium.example/api/v1/kimchi-premium</pre>',
    'openapi.json': '{"default":"https://premium.example"}',
    'robots.txt': 'User-agent: *',
    assets: { 'a-1234.js': 'export {}' },
  })
  const api = createServer((request, response) => {
    response.writeHead(request.url?.includes('days=0') ? 400 : 200, { etag: '"1"' })
    response.end(`${request.method} ${request.url} ${request.headers['if-none-match'] ?? ''}`)
  })
  const target = `http://127.0.0.1:${await listen(t, api)}`
  const page = await startPageServer(dir, target, 0, '127.0.0.1')
  t.teardown(() => page.close())
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(new URL(path, page.url), { headers })
    return { status: response.status, headers: response.headers, body: await response.text() }
  }
  const endApi = async () => {
    const closed = new Promise(resolve => api.close(resolve))
    api.closeAllConnections()
    await closed
  }
  return { ask, endApi, url: page.url }
}

t.test('serves the page’s files, which a browser asks for again each time', async t => {
  const { ask } = await openPage(t)
  const index = await ask('/')
  t.match(index, { status: 200, body: /<title>page/ })
  t.equal(index.headers.get('cache-control'), 'no-cache')
  const script = await ask('/assets/a-1234.js')
  t.equal(script.headers.get('cache-control'), 'no-cache')
  t.match(script.headers.get('content-type'), /javascript/)
  const known = { 'if-none-match': script.headers.get('etag') ?? '' }
  t.match(await ask('/assets/a-1234.js', known), { status: 304 })
})

t.test('fills in its own address, for the picture of a shared link and in examples', async t => {
  const { ask, url } = await openPage(t)
  for (const path of ['/', '/index.html', '/?utm_source=x'])
    t.match((await ask(path)).body, `content="${url}og.png"`)
  t.equal((await ask('/reference.ko.html')).body, `<pre>curl ${url}api/v1/kimchi-premium</pre>`)
  const openapi = await ask('/openapi.json')
  t.equal(openapi.headers.get('content-type'), 'application/json')
  t.strictSame(JSON.parse(openapi.body), { default: url.slice(0, -1) })
})

t.test('answers 404 to a missing file, and serves nothing outside of its folder', async t => {
  const { ask } = await openPage(t)
  t.match(await ask('/nothing'), { status: 404 })
  t.match(await ask('/nothing.html'), { status: 404 })
  t.match(await ask('/%2e%2e/%2e%2e/package.json'), { status: 404 })
  t.match(await ask('/..%2f..%2fpackage.json'), { status: 404 })
})

t.test('passes /api/ on, with its headers and status', async t => {
  const { ask } = await openPage(t)
  const answer = await ask('/api/v1/kimchi-premium?x=1', { 'if-none-match': '"0"' })
  t.match(answer, { status: 200, body: 'GET /api/v1/kimchi-premium?x=1 "0"' })
  t.equal(answer.headers.get('etag'), '"1"')
  t.match(await ask('/api/v1/kimchi-premium/BTC/daily?days=0'), { status: 400 })
})

t.test('while the API is away, the answer is 503 with Retry-After', async t => {
  const { ask, endApi } = await openPage(t)
  await ask('/api/v1/kimchi-premium')
  await endApi()
  const answer = await ask('/api/v1/kimchi-premium')
  t.match(JSON.parse(answer.body), { result: 'error', code: 'not_ready' })
  t.equal(answer.status, 503)
  t.equal(answer.headers.get('retry-after'), '5')
  t.match(await ask('/'), { status: 200 }, 'the page is still served')
})
