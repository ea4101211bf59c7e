import t from 'tap'
import { httpErrorOf } from '../src/http-error.ts'

t.test('refused regions, handshakes and REST calls have codes of their own', async t => {
  const codeOf = (what: string, status: number) => httpErrorOf('upbit', what, status).code
  t.equal(codeOf('handshake', 429), 'KIMCHI_ERR_FEED_REFUSED')
  t.equal(codeOf('GET /v1/market/all', 429), 'KIMCHI_ERR_REST')
  t.equal(codeOf('handshake', 451), 'KIMCHI_ERR_GEO_BLOCKED')
  t.equal(codeOf('GET /v1/market/all', 451), 'KIMCHI_ERR_GEO_BLOCKED')
})
