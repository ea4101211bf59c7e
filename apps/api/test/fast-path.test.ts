import t from 'tap'
import { daysBefore, openTestApp } from './board.ts'
import { ask } from './stack.ts'

const LIVE = '/api/v1/kimchi-premium'

t.test('the fast path gives the very answers of the router', async t => {
  const { app, listen, reader } = await openTestApp(t)
  reader.days.set('BTC', daysBefore('2026-11-20', 400))
  await app.inject(`${LIVE}/BTC/daily`)
  const base = `http://127.0.0.1:${await listen()}`
  const queries = [
    '',
    '?',
    '?days=1',
    '?days=0',
    '?days=007',
    '?days=3650',
    '?days=3651',
    '?days=7&x',
    '?days=7&days=7',
  ]
  const urls = [LIVE, `${LIVE}?x`, `${LIVE}/daily`, `${LIVE}//daily`, `${LIVE}/btc/daily`, `${LIVE}/NO/daily`]
  for (const url of [
    ...urls,
    ...queries.map(query => `${LIVE}/BTC/daily${query}`),
    `${LIVE}/BTC/daily/daily`,
  ]) {
    const routed = await app.inject(url)
    const { status, headers, body } = await ask(base + url)
    t.equal(status, routed.statusCode, url)
    t.equal(body, routed.payload, url)
    for (const name of ['etag', 'cache-control', 'content-length', 'vary', 'content-type']) {
      t.equal(headers[name], routed.headers[name], `${url} ${name}`)
    }
  }
})
