import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { compressed, compressStart, endedWith } from '../src/documents/compression.ts'
import { MINUTE } from './board.ts'

const text = JSON.stringify({ data: Array.from({ length: 400 }, (_, n) => ({ n })) })
const decoded = (coded: ReturnType<typeof endedWith>) =>
  [brotliDecompressSync, gunzipSync].map((decode, index) =>
    decode(Buffer.concat(coded.get(index === 0 ? 'br' : 'gzip') ?? [])),
  )

t.test('a compressed start can be ended with anything', async t => {
  const start = await compressStart([Buffer.from(text.slice(0, 20)), Buffer.from(text.slice(20))])
  const rests = fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes))
  const sizes = fc.constantFrom(0, 1, 255, 256, 65_534, 65_535).map(size => Buffer.alloc(size, 'x'))
  fc.assert(
    fc.property(fc.oneof(rests, sizes), rest => {
      const whole = Buffer.concat([Buffer.from(text), rest])
      return decoded(endedWith(start, rest)).every(bytes => bytes.equals(whole))
    }),
  )
  t.pass('and is read back whole')
})

t.test('a whole body is compressed to a third and less', async t => {
  const document = await compressed({ minute: MINUTE, tag: 'x', plain: [Buffer.from(text)] })
  t.strictSame(decoded(document.coded).map(String), [text, text])
  for (const pieces of document.coded.values()) t.ok(Buffer.concat(pieces).length < text.length / 3)
})

t.test('a small body is not worth compressing', async t => {
  const small = await compressed({ minute: MINUTE, tag: 'x', plain: [Buffer.from('{"result":"ok"}')] })
  t.equal(small.coded.size, 0)
})

t.test('what is worth compressing is decided by the whole body', async t => {
  const start = await compressStart([Buffer.alloc(858, 'x')], 2)
  t.equal(endedWith(start, Buffer.from('y')).size, 0)
  t.equal(endedWith(start, Buffer.from('yz')).size, 2)
})
