import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { CodedBodies } from '../src/documents/coded-bodies.ts'
import { hashOf } from '../src/documents/document.ts'

const text = JSON.stringify({ data: Array.from({ length: 400 }, (_, n) => ({ n })) })
const bodyOf = (body: string) => ({
  tag: hashOf(body),
  chunks: [body.slice(0, 9), Buffer.from(body.slice(9))],
})

t.test('coding cuts a body to a third or less, and decoding gives it back whole', async t => {
  const forms = new CodedBodies().formsOf('x', bodyOf(text))
  t.equal(forms?.get('br'), undefined)
  await Promise.all([forms?.make('br'), forms?.make('gzip')])
  const [br, gzip] = [forms?.get('br') ?? Buffer.of(), forms?.get('gzip') ?? Buffer.of()]
  t.equal(String(brotliDecompressSync(br)), text)
  t.equal(String(gunzipSync(gzip)), text)
  for (const { length, buffer } of [br, gzip]) {
    t.ok(length < text.length / 3)
    t.equal(buffer.byteLength, length, 'it is no part of something larger')
  }
})

t.test('a small body is not worth coding', async t => {
  const bodies = new CodedBodies()
  t.equal(bodies.formsOf('x', bodyOf('x'.repeat(859))), undefined)
  t.ok(bodies.formsOf('x', bodyOf('x'.repeat(860))))
})

t.test('keeps the newest body of each name, and makes it once for all who wait', async t => {
  const bodies = new CodedBodies()
  const older = bodies.formsOf('x', bodyOf(text))
  const newer = bodies.formsOf('x', bodyOf(`${text} `))
  const first = older?.make('gzip')
  t.equal(older?.make('gzip'), first)
  t.equal(bodies.formsOf('x', bodyOf(text))?.make('gzip'), first)
  await first
  t.ok(older?.get('gzip'))
  t.equal(older?.get('br'), undefined)
  t.equal(bodies.formsOf('y', bodyOf(text))?.get('gzip'), undefined)
  await newer?.make('gzip')
  t.equal(older?.get('gzip'), undefined)
  t.equal(String(gunzipSync(newer?.get('gzip') ?? Buffer.of())), `${text} `)
})

t.test('drops the oldest bodies above the allowed bytes', async t => {
  const alone = new CodedBodies().formsOf('x', bodyOf(text))
  await alone?.make('gzip')
  const bodies = new CodedBodies(3 * (alone?.get('gzip')?.length ?? 0))
  const formsOf = (name: string) => bodies.formsOf(name, bodyOf(text))
  for (const name of ['a', 'b', 'c', 'a', 'd']) await formsOf(name)?.make('gzip')
  t.strictSame(
    ['a', 'b', 'c', 'd'].filter(name => formsOf(name)?.get('gzip')),
    ['a', 'c', 'd'],
  )
})
