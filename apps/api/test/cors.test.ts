import { createServer } from 'node:http'
import { minuteOf } from '@kimchi/core'
import { listen, startRedis, type Teardown } from '@kimchi/testkit'
import { findChromium, openChromium, type Page } from '@kimchi/testkit/chromium'
import t from 'tap'
import { openTestWriter, startTestApi } from './stack.ts'

const chromium = findChromium()

interface Seen {
  readonly status: number
  readonly type: string
  readonly body: { result: string; code?: string }
  readonly etag: string | null
  readonly retryAfter: string | null
  readonly date: string | null
}

/** Runs in the page: what a script there can see of an answer. */
const SEE = `async (url, options) => {
  const answer = await fetch(url, { cache: 'no-store', ...options })
  const text = await answer.text()
  return {
    status: answer.status,
    type: answer.type,
    body: text === '' ? undefined : JSON.parse(text),
    etag: answer.headers.get('etag'),
    retryAfter: answer.headers.get('retry-after'),
    date: answer.headers.get('date'),
  }
}`

// docs/faults.md, 31
t.test(
  'a page of another origin can read every answer',
  { skip: chromium === undefined && 'no chromium on PATH' },
  async t => {
    const redis = await startRedis(t)
    const empty = await startTestApi(t, redis.url, { nothing: true })
    const page = await openForeignPage(t)
    const see = (url: string, options: object = {}) =>
      page.evaluate<Seen>(`(${SEE})(${JSON.stringify(url)}, ${JSON.stringify(options)})`)

    const early = await see(empty.base)
    t.match(early, { status: 503, type: 'cors', retryAfter: '5', body: { code: 'not_ready' } })
    const writer = await openTestWriter(t, redis.url)
    await writer.writeMinute(minuteOf(Date.now()))
    const api = await startTestApi(t, redis.url, { histories: ['BTC'] })

    const list = await see(api.base)
    t.match(list, {
      status: 200,
      type: 'cors',
      body: { result: 'ok' },
      etag: /^"[\w-]+(-br|-gzip)?"$/,
      date: /GMT$/,
    })
    t.match(await see(`${api.base}/btc/daily?days=1`), { status: 200, body: { result: 'ok', symbol: 'BTC' } })
    t.match(await see(`${api.base}/NOPE/daily`), { status: 404, body: { code: 'unknown_symbol' } })
    t.match(await see(`${api.base}/BTC/daily?days=0`), { status: 400, body: { code: 'invalid_days' } })
    t.match(await see(`${new URL(api.base).origin}/`), { status: 404, body: { code: 'no_such_route' } })
    t.match(await see(api.base, { method: 'POST', body: 'x' }), {
      status: 405,
      body: { code: 'method_not_allowed' },
    })
    t.match(await see(`${api.base}?${'x'.repeat(9_000)}`), {
      status: 431,
      body: { code: 'headers_too_large' },
    })

    const headers = { 'If-None-Match': list.etag }
    t.match(
      await see(api.base, { headers }),
      { status: 304, type: 'cors', etag: list.etag },
      'after a preflight',
    )
    const deleted = await see(api.base, { method: 'DELETE' }).catch(error => String(error))
    t.match(
      deleted,
      /Failed to fetch/,
      'a method that the preflight does not allow is stopped by the browser',
    )
    t.match(
      await see(api.base, { headers: { 'Content-Type': 'application/json', 'X-Anything': '1' } }),
      { status: 200 },
      'other headers pass the preflight too',
    )
  },
)

/** A page on another origin than the API. */
async function openForeignPage(t: Teardown): Promise<Page> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>caller</title>')
  })
  const port = await listen(t, server)
  const browser = await openChromium(chromium ?? '', t)
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${port}/`)
  return page
}
