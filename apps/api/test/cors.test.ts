import { createServer } from 'node:http'
import { listen as serve } from '@kimchi/testkit'
import { findChromium, openChromium } from '@kimchi/testkit/chromium'
import t from 'tap'
import { daysBefore, openTestApp } from './board.ts'
import { LIVE } from './raw.ts'

const chromium = findChromium()

/** Runs in the page: what a script there can see of an answer. */
const SEE = `async (url, options) => {
  const answer = await fetch(url, { cache: 'no-store', ...options })
  const text = await answer.text()
  const header = name => answer.headers.get(name)
  const body = text === '' ? undefined : JSON.parse(text)
  const { status, type } = answer
  return { status, type, body, etag: header('etag'), retryAfter: header('retry-after'), date: header('date') }
}`

// docs/faults.md, 31
t.test(
  'a page of another origin can read every answer',
  { skip: chromium === undefined && 'no chromium on PATH' },
  async t => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<title>caller</title>')
    })
    const page = await (await openChromium(chromium ?? '', t)).newPage()
    await page.goto(`http://127.0.0.1:${await serve(t, server)}/`)
    const see = (url: string, options: object = {}) =>
      page.evaluate<{ etag?: string }>(`(${SEE})(${JSON.stringify(url)}, ${JSON.stringify(options)})`)

    const empty = await openTestApp(t, new Error('connection lost'))
    const early = await see(`http://127.0.0.1:${await empty.listen()}${LIVE}`)
    t.match(early, { status: 503, type: 'cors', retryAfter: '5', body: { code: 'not_ready' } })
    const { listen, reader } = await openTestApp(t)
    reader.days.set('BTC', daysBefore('2026-11-20', 3))
    const origin = `http://127.0.0.1:${await listen()}`
    const base = `${origin}${LIVE}`

    const list = await see(base)
    const etag = /^"[\w-]+(-br|-gzip)?"$/
    t.match(list, { status: 200, type: 'cors', body: { result: 'ok' }, etag, date: /GMT$/ })
    t.match(await see(`${base}/btc/daily?days=1`), { status: 200, body: { result: 'ok', symbol: 'BTC' } })
    t.match(await see(`${base}/NOPE/daily`), { status: 404, body: { code: 'unknown_symbol' } })
    t.match(await see(`${base}/BTC/daily?days=0`), { status: 400, body: { code: 'invalid_days' } })
    t.match(await see(`${origin}/`), { status: 404, body: { code: 'no_such_route' } })
    const post = await see(base, { method: 'POST', body: 'x' })
    t.match(post, { status: 405, body: { code: 'method_not_allowed' } })
    const long = await see(`${base}?${'x'.repeat(9_000)}`)
    t.match(long, { status: 431, body: { code: 'headers_too_large' } })
    const known = await see(base, { headers: { 'If-None-Match': list.etag } })
    t.match(known, { status: 304, type: 'cors', etag: list.etag }, 'after a preflight')
    const headers = { 'Content-Type': 'application/json', 'X-Anything': '1' }
    t.match(await see(base, { headers }), { status: 200 }, 'other headers pass the preflight too')
    await t.rejects(see(base, { method: 'DELETE' }), /Failed to fetch/, 'the browser stops what it forbids')
  },
)
