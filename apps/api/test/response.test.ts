import type { IncomingHttpHeaders } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { minuteStart } from '@kimchi/core'
import t from 'tap'
import { compressed } from '../src/documents/compression.ts'
import { hashOf } from '../src/documents/document.ts'
import { CORS_HEADERS, etagOf, maxAgeAt, respond } from '../src/http/response.ts'
import { MINUTE } from './board.ts'

const text = JSON.stringify({ data: Array.from({ length: 200 }, (_, n) => ({ n })) })
const plain = [Buffer.from(text.slice(0, 10)), Buffer.from(text.slice(10))]
const document = await compressed({ minute: MINUTE, tag: hashOf(text), plain })
const now = minuteStart(MINUTE) + 26_000
const ask = (headers: IncomingHttpHeaders = {}, method = 'GET') => respond(document, { method, headers }, now)
const bytesOf = ({ body }: ReturnType<typeof ask>) => Buffer.concat(body)

t.test('a document is answered whole, with everything a cache needs', async t => {
  const response = ask()
  t.equal(response.status, 200)
  t.equal(String(bytesOf(response)), text)
  t.strictSame(response.headers, {
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'content-length': String(text.length),
    etag: etagOf(document, 'identity'),
    vary: 'Accept-Encoding',
    'cache-control': 'public, max-age=37, stale-while-revalidate=2, stale-if-error=600',
  })
})

t.test('the compressed bytes go to who accepts them', async t => {
  const gzipped = ask({ 'accept-encoding': 'gzip' })
  t.equal(gzipped.headers['content-encoding'], 'gzip')
  t.equal(gzipped.headers['content-length'], String(bytesOf(gzipped).length))
  t.equal(gzipped.headers.etag, etagOf(document, 'gzip'))
  t.equal(String(gunzipSync(bytesOf(gzipped))), text)
  const brotli = ask({ 'accept-encoding': 'gzip, br' })
  t.equal(String(brotliDecompressSync(bytesOf(brotli))), text)
  t.equal(brotli.headers.vary, 'Accept-Encoding')
})

t.test('a document without compressed bytes goes out plain', async t => {
  const small = { ...document, coded: new Map() }
  const { headers } = respond(small, { method: 'GET', headers: { 'accept-encoding': 'br' } }, now)
  t.equal(headers['content-encoding'], undefined)
  t.equal(headers.vary, 'Accept-Encoding')
})

t.test('HEAD has the headers of GET and no body', async t => {
  const head = ask({}, 'HEAD')
  t.strictSame(head.headers, ask().headers)
  t.strictSame(head.body, [])
})

t.test('If-None-Match', async t => {
  const tag = etagOf(document, 'identity')
  const status = (ifNoneMatch: string, acceptEncoding?: string) =>
    ask({
      'if-none-match': ifNoneMatch,
      ...(acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding }),
    }).status
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

t.test('304 carries the tag the client has, the cache headers, and nothing about a body', async t => {
  const known = { 'if-none-match': etagOf(document, 'gzip'), 'accept-encoding': 'br, gzip' }
  const { status, headers, body } = ask(known)
  t.equal(status, 304)
  t.strictSame(headers, {
    etag: etagOf(document, 'gzip'),
    vary: 'Accept-Encoding',
    'cache-control': 'public, max-age=37, stale-while-revalidate=2, stale-if-error=600',
  })
  t.strictSame(body, [])
})

t.test('requests of one second share a response, whose list of headers holds those of CORS too', async t => {
  const first = ask({ 'accept-encoding': 'br' })
  t.equal(ask({ 'accept-encoding': 'br' }), first)
  t.not(ask({ 'accept-encoding': 'gzip' }), first)
  t.not(respond(document, { method: 'GET', headers: { 'accept-encoding': 'br' } }, now + 1_000), first)
  t.strictSame(first.rawHeaders, Object.entries({ ...first.headers, ...CORS_HEADERS }).flat())
})

t.test('max-age counts down to the next minute’s list', async t => {
  const at = (seconds: number) => maxAgeAt(minuteStart(MINUTE) + seconds * 1_000, MINUTE)
  t.equal(at(3), 60)
  t.equal(at(3.001), 60, 'rounded up')
  t.equal(at(62.5), 1)
  t.equal(at(63), 1, 'due now')
  t.equal(at(73), 1, 'overdue by 10 s')
  t.equal(at(73.001), 5, 'overdue by more')
  t.equal(at(100_000), 5)
  t.equal(at(-500), 63, 'a clock that is behind')
})
