import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { minuteStart } from '@kimchi/core'
import t from 'tap'
import { compress, createDocument, etagOf } from '../src/documents/document.ts'
import { maxAgeAt, respond } from '../src/http/response.ts'

const text = JSON.stringify({ data: Array.from({ length: 200 }, (_, n) => ({ n })) })
const newDocument = () => createDocument(Buffer.from(text))
const get = { method: 'GET', ifNoneMatch: undefined, acceptEncoding: undefined }

t.test('a document is answered whole, with everything a cache needs', async t => {
  const document = newDocument()
  const { status, headers, body } = respond(document, get, 37)
  t.equal(status, 200)
  t.equal(String(body), text)
  t.strictSame(headers, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(text.length),
    etag: etagOf(document, 'identity'),
    vary: 'Accept-Encoding',
    'cache-control': 'public, max-age=37, stale-while-revalidate=2, stale-if-error=600',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'ETag, Retry-After, Age, Date',
    'x-content-type-options': 'nosniff',
  })
})

t.test('the same bytes have the same strong tag, other bytes another', async t => {
  t.equal(etagOf(newDocument(), 'identity'), etagOf(newDocument(), 'identity'))
  t.match(etagOf(newDocument(), 'identity'), /^"[\w-]{22}"$/)
  t.not(etagOf(newDocument(), 'identity'), etagOf(createDocument(Buffer.from('{}')), 'identity'))
})

t.test('plain bytes go out until the coded ones are made', async t => {
  const document = newDocument()
  const asked = { ...get, acceptEncoding: 'gzip' }
  t.equal(respond(document, asked, 1).headers['content-encoding'], undefined)
  while (document.compression !== 'done') await new Promise(resolve => setImmediate(resolve))
  const gzipped = respond(document, asked, 1)
  t.equal(gzipped.headers['content-encoding'], 'gzip')
  t.equal(gzipped.headers['content-length'], String(gzipped.body?.length))
  t.equal(gzipped.headers.etag, etagOf(document, 'gzip'))
  t.equal(String(gunzipSync(gzipped.body ?? '')), text)
  const brotli = respond(document, { ...get, acceptEncoding: 'gzip, br' }, 1)
  t.equal(String(brotliDecompressSync(brotli.body ?? '')), text)
  t.equal(brotli.headers.vary, 'Accept-Encoding')
})

t.test('a small body is not worth coding', async t => {
  const document = createDocument(Buffer.from('{"result":"ok"}'))
  await compress(document)
  t.equal(respond(document, { ...get, acceptEncoding: 'br' }, 1).headers['content-encoding'], undefined)
})

t.test('HEAD has the headers of GET and no body', async t => {
  const document = newDocument()
  const head = respond(document, { ...get, method: 'HEAD' }, 5)
  t.strictSame(head.headers, respond(document, get, 5).headers)
  t.equal(head.body, undefined)
})

t.test('If-None-Match', async t => {
  const document = newDocument()
  await compress(document)
  const tag = etagOf(document, 'identity')
  const status = (ifNoneMatch: string, acceptEncoding?: string) =>
    respond(document, { method: 'GET', ifNoneMatch, acceptEncoding }, 1).status
  t.equal(status(tag), 304, 'the tag itself')
  t.equal(status(`W/${tag}`), 304, 'weak comparison')
  t.equal(status(`"a", W/"b,c" ,${tag}`), 304, 'one of a list')
  t.equal(status('*'), 304)
  t.equal(status('"other"'), 200)
  t.equal(status(''), 200)
  t.equal(status(tag.slice(1, -1)), 200, 'without quotes it is no tag')
  t.equal(status(`"x${tag.slice(1)}`), 200, 'a longer tag that contains it')
  t.equal(status(etagOf(document, 'gzip'), 'gzip, br'), 304, 'the tag of any coding the client accepts')
  t.equal(status(etagOf(document, 'br'), 'gzip'), 200, 'not of one it can no longer read')
})

t.test('304 carries the tag the client has, the cache headers, CORS, and nothing about a body', async t => {
  const document = newDocument()
  const asked = { method: 'GET', ifNoneMatch: etagOf(document, 'gzip'), acceptEncoding: 'br, gzip' }
  const { flatHeaders, payload, ...answer } = respond(document, asked, 9)
  t.equal(payload, undefined)
  t.strictSame(flatHeaders, Object.entries(answer.headers).flat())
  t.strictSame(answer, {
    status: 304,
    headers: {
      etag: etagOf(document, 'gzip'),
      vary: 'Accept-Encoding',
      'cache-control': 'public, max-age=9, stale-while-revalidate=2, stale-if-error=600',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'ETag, Retry-After, Age, Date',
      'x-content-type-options': 'nosniff',
    },
    body: undefined,
  })
})

t.test('a 304 given before the coded bytes exist does not spoil the 200 afterwards', async t => {
  const document = newDocument()
  const asked = { ...get, acceptEncoding: 'gzip' }
  t.equal(respond(document, { ...asked, ifNoneMatch: etagOf(document, 'gzip') }, 9).status, 304)
  await compress(document)
  while (document.compression !== 'done') await new Promise(resolve => setImmediate(resolve))
  t.equal(String(gunzipSync(respond(document, asked, 9).body ?? '')), text)
})

t.test('max-age counts down to the next minute’s answer', async t => {
  const minute = 29_000_000
  const at = (seconds: number) => maxAgeAt(minuteStart(minute) + seconds * 1_000, minute)
  t.equal(at(2), 60)
  t.equal(at(2.001), 60, 'rounded up')
  t.equal(at(61.5), 1)
  t.equal(at(62), 1, 'due now')
  t.equal(at(72), 1, 'overdue by 10 s')
  t.equal(at(72.001), 5, 'overdue by more')
  t.equal(at(100_000), 5)
  t.equal(at(-500), 62, 'a clock that is behind')
})
