import t from 'tap'
import { httpErrorOf } from '../src/http-error.ts'

t.test('refused regions, handshakes and REST calls have codes of their own', async t => {
  const codeOf = (what: string, status: number) => httpErrorOf('upbit', what, status).code
  t.equal(codeOf('handshake', 429), 'KIMCHI_ERR_FEED_REFUSED')
  t.equal(codeOf('GET /v1/market/all', 429), 'KIMCHI_ERR_REST')
  t.equal(codeOf('handshake', 451), 'KIMCHI_ERR_GEO_BLOCKED')
  t.equal(codeOf('GET /v1/market/all', 451), 'KIMCHI_ERR_GEO_BLOCKED')
})

t.test('the message says what happened, what it means and what to do', async t => {
  const messageOf = (exchange: 'upbit' | 'binance', status: number, retryAfterMs?: number) =>
    httpErrorOf(exchange, 'handshake', status, retryAfterMs).message
  t.equal(messageOf('upbit', 429, 6_500), 'upbit handshake: HTTP 429, too many requests, retry in 7 s')
  t.equal(messageOf('upbit', 302), 'upbit handshake: HTTP 302, a redirect, not followed')
  t.equal(messageOf('upbit', 503), 'upbit handshake: HTTP 503, refused')
  t.match(
    messageOf('binance', 451),
    /not served in this region.*data-stream\.binance\.vision.*data-api\.binance\.vision/,
  )
  t.match(messageOf('upbit', 451), /UPBIT_WS_URL/)
})
