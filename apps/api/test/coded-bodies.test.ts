import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { CodedBodies } from '../src/documents/coded-bodies.ts'
import { Document, hashOf } from '../src/documents/document.ts'
import { MINUTE } from './board.ts'

const text = JSON.stringify({ data: Array.from({ length: 400 }, (_, n) => ({ n })) })
const partsOf = (body: string) => ({ minute: MINUTE, tag: hashOf(body), plain: Buffer.from(body) })

t.test('a body is coded to a third and less, and is read back whole', async t => {
  const document = new Document(partsOf(text), 'x', new CodedBodies())
  t.equal(document.coded('br'), undefined)
  await Promise.all([document.code('br'), document.code('gzip')])
  const [br, gzip] = [document.coded('br') ?? Buffer.of(), document.coded('gzip') ?? Buffer.of()]
  t.equal(String(brotliDecompressSync(br)), text)
  t.equal(String(gunzipSync(gzip)), text)
  for (const { length, buffer } of [br, gzip]) {
    t.ok(length < text.length / 3)
    t.ok(buffer.byteLength < 2 * 8_192, 'it is no part of something large')
  }
})

t.test('a small body is not worth coding, nor one that is kept nowhere', async t => {
  const bodies = new CodedBodies()
  t.equal(new Document(partsOf('x'.repeat(859)), 'x', bodies).isCodable, false)
  t.equal(new Document(partsOf('x'.repeat(860)), 'x', bodies).isCodable, true)
  t.equal(new Document(partsOf(text), 'x').isCodable, false)
})

t.test('of each name the newest is held, each made once for all who wait', async t => {
  const bodies = new CodedBodies()
  const [older, newer] = [partsOf(text), partsOf(`${text} `)]
  const first = bodies.make('x', 'gzip', older)
  t.equal(bodies.make('x', 'gzip', older), first)
  await first
  t.ok(bodies.get('x', older.tag))
  t.equal(bodies.get('y', older.tag), undefined)
  await bodies.make('x', 'gzip', newer)
  t.equal(bodies.get('x', older.tag), undefined)
  t.equal(String(gunzipSync(bodies.get('x', newer.tag) ?? Buffer.of())), `${text} `)
})

t.test('the oldest go when there are more bytes than allowed', async t => {
  const size = await sizeOf(text)
  const bodies = new CodedBodies(3 * size)
  for (const name of ['a', 'b', 'c', 'a', 'd']) await bodies.make(name, 'gzip', partsOf(text))
  const { tag } = partsOf(text)
  t.strictSame(
    ['a', 'b', 'c', 'd'].filter(name => bodies.get(name, tag)),
    ['a', 'c', 'd'],
  )
})

async function sizeOf(body: string): Promise<number> {
  const document = new Document(partsOf(body), 'x', new CodedBodies())
  await document.code('gzip')
  return document.coded('gzip')?.length ?? 0
}
