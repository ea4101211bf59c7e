import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { boardOf, coinOf, daysBefore, MINUTE, openTestApp } from './board.ts'
import { exchange } from './raw.ts'
import { ask, eventually } from './stack.ts'

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

t.test('the fast path sends short and long bodies byte for byte, plain and coded, in any script', async t => {
  const decoders: Record<string, (body: Buffer) => Buffer> = {
    identity: body => body,
    gzip: gunzipSync,
    br: brotliDecompressSync,
  }
  for (const coins of [12, 60, 300]) {
    const symbols = Array.from({ length: coins }, (_, index) => `C${index}`)
    const named = symbols.map((symbol, order) => ({
      ...coinOf(symbol, order),
      name: `Ünïcøde ₿ 김치 ${symbol}`,
    }))
    const { app, listen, documents } = await openTestApp(t, boardOf(MINUTE, symbols, { coins: named }))
    const { payload } = await app.inject(LIVE)
    await eventually('coded bodies', () => documents.live()?.compression === 'done' || undefined)
    const port = await listen()
    for (const [coding, decode] of Object.entries(decoders)) {
      const head = `GET ${LIVE} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${coding}\r\n`
      // Twice on one connection: the second answer begins where the first one's Content-Length ends.
      const answers = await exchange(port, `${head}\r\n${head}Connection: close\r\n\r\n`)
      t.strictSame(
        answers.map(({ headers, rawBody }) => [
          headers['content-encoding'] ?? 'identity',
          decode(rawBody).toString(),
        ]),
        [coding, coding].map(sent => [sent, payload]),
        `${coins} coins, ${coding}`,
      )
    }
  }
})
