import type { IncomingHttpHeaders } from 'node:http'
import { minuteStart } from '@kimchi/core'
import pLimit from 'p-limit'
import t from 'tap'
import type { Document } from '../src/documents/document.ts'
import { compressedBody, contentHash, QUALITY } from '../src/documents/document.ts'
import { bestCoding, compressFor, etagOf, maxAgeAt, respond } from '../src/http/response.ts'
import { MINUTE } from './board.ts'

const text = JSON.stringify({ data: Array.from({ length: 200 }, (_, n) => ({ n })) })
const parts = { minute: MINUTE, tag: contentHash(text), body: [text.slice(0, 9), Buffer.from(text.slice(9))] }
const compressible = (): Document => ({
  ...parts,
  compressed: compressedBody(parts.body, pLimit(2), QUALITY.list),
})
const document = compressible()
await Promise.all([document.compressed?.make('br'), document.compressed?.make('gzip')])
const now = minuteStart(MINUTE) + 26_000
const ask = (headers: IncomingHttpHeaders = {}, of: Document = document) => {
  const response = respond(of, headers, now)
  if (response === undefined) throw new Error('no response at hand')
  const { status, headers: list, body } = response
  const names = list.filter((_, index) => index % 2 === 0)
  return { status, headers: Object.fromEntries(names.map((name, n) => [name, list[2 * n + 1]])), body }
}
const cors = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Retry-After, Age, Date',
}
const bytesOf = ({ body }: ReturnType<typeof ask>) => Buffer.concat(body.map(chunk => Buffer.from(chunk)))

t.test('sends a document whole, with everything that a cache needs', async t => {
  const response = ask()
  t.equal(response.status, 200)
  t.equal(String(bytesOf(response)), text)
  t.strictSame(response.headers, {
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'content-length': String(text.length),
    'last-modified': 'Fri, 20 Nov 2026 13:05:00 GMT',
    etag: etagOf(document, 'identity'),
    vary: 'Accept-Encoding',
    'cache-control': 'public, max-age=37, stale-while-revalidate=2, stale-if-error=600',
    ...cors,
  })
})

t.test('waits for a body that is not compressed yet, unless the client has it', async t => {
  const fresh = compressible()
  const asked = { 'accept-encoding': 'br' }
  t.equal(respond(fresh, asked, now), undefined)
  t.equal(ask({}, fresh).status, 200, 'not by who takes it plain')
  t.equal(ask({ ...asked, 'if-none-match': etagOf(fresh, 'br') }, fresh).status, 304)
  t.equal(respond(fresh, asked, now), undefined)
  await compressFor(fresh, asked)
  t.equal(ask(asked, fresh).headers['content-encoding'], 'br')
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
  t.equal(status(etagOf(document, 'gzip'), 'gzip'), 304, 'the tag of the coding that the client gets')
  t.equal(status(etagOf(document, 'br'), 'gzip'), 200, 'not of one it can no longer read')
})

t.test('304 has the client’s tag, the cache headers, and no header about a body', async t => {
  const known = { 'if-none-match': etagOf(document, 'gzip'), 'accept-encoding': 'gzip' }
  const { status, headers, body } = ask(known)
  t.equal(status, 304)
  t.strictSame(headers, {
    etag: etagOf(document, 'gzip'),
    vary: 'Accept-Encoding',
    'cache-control': 'public, max-age=37, stale-while-revalidate=2, stale-if-error=600',
    ...cors,
  })
  t.strictSame(body, [])
})

t.test('requests within one second share a response', async t => {
  const at = (headers: IncomingHttpHeaders, later = 0) => respond(document, headers, now + later)
  const first = at({ 'accept-encoding': 'br' })
  t.equal(at({ 'accept-encoding': 'br' }), first)
  t.not(at({ 'accept-encoding': 'gzip' }), first)
  t.not(at({ 'accept-encoding': 'br' }, 1_000), first)
})

t.test('max-age counts down to the next minute’s list', async t => {
  const at = (seconds: number) => maxAgeAt(minuteStart(MINUTE) + seconds * 1_000, MINUTE)
  t.equal(at(3), 60)
  t.equal(at(3.001), 60, 'rounded up')
  t.equal(at(63), 1, 'due now')
  t.equal(at(73), 1, 'overdue by 10 s')
  t.equal(at(73.001), 5, 'overdue by more')
  t.equal(at(-500), 63, 'a clock that is behind')
})

const codings: readonly [title: string, header: string | undefined, coding: string][] = [
  ['no header means plain bytes', undefined, 'identity'],
  ['an empty header means plain bytes', '', 'identity'],
  ['the smaller comes first, whatever weighs more', 'gzip, deflate, br;q=0.2', 'br'],
  ['spaces and letter case don’t matter', ' GZIP ; Q=0.3 ,Br; q = 0.2', 'br'],
  ['gzip’s old name', 'X-Gzip', 'gzip'],
  ['q=0 is a refusal', 'gzip, br;q=0', 'gzip'],
  ['so it is with decimals', 'gzip;q=0.001, br;q=0.000', 'gzip'],
  ['a malformed weight is a refusal', 'br;q=abc, gzip', 'gzip'],
  ['a weight above 1, too', 'br;q=2, gzip', 'gzip'],
  ['* names no coding', '*', 'identity'],
  ['identity goes on being sent when nothing else is left', 'identity;q=0, *;q=0', 'identity'],
  ['an unknown coding is ignored', 'zstd, sdch, brotli', 'identity'],
]

for (const [title, header, coding] of codings) {
  t.test(title, async t => t.equal(bestCoding(header), coding))
}
