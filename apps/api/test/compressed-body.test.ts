import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import pLimit from 'p-limit'
import t from 'tap'
import { compressedBody, QUALITY } from '../src/documents/document.ts'

const text = JSON.stringify({ data: Array.from({ length: 400 }, (_, n) => ({ n })) })
const body = [text.slice(0, 9), Buffer.from(text.slice(9))]

t.test('compressing cuts a body to a third or less, and decompressing gives it back whole', async t => {
  const compressed = compressedBody(body, pLimit(2), QUALITY.list)
  t.equal(compressed.get('br'), undefined)
  await Promise.all([compressed.make('br'), compressed.make('gzip')])
  const [br, gzip] = [compressed.get('br') ?? Buffer.of(), compressed.get('gzip') ?? Buffer.of()]
  t.equal(String(brotliDecompressSync(br)), text)
  t.equal(String(gunzipSync(gzip)), text)
  for (const { length, buffer } of [br, gzip]) {
    t.ok(length < text.length / 3)
    t.equal(buffer.byteLength, length, 'it is no part of something larger')
  }
})

t.test('a body that could not be compressed is compressed at the next request', async t => {
  const failures = [new Error('no memory')]
  const queue = pLimit(2)
  const compressed = compressedBody(
    body,
    async work => {
      const failure = failures.pop()
      if (failure) throw failure
      return queue(work)
    },
    QUALITY.list,
  )
  await t.rejects(compressed.make('br'), { message: 'no memory' })
  await compressed.make('br')
  t.ok(compressed.get('br'))
})

t.test('each coding is made once for all who wait, and no other', async t => {
  const compressed = compressedBody(body, pLimit(2), QUALITY.list)
  await Promise.all([compressed.make('gzip'), compressed.make('gzip')])
  const made = compressed.get('gzip')
  t.ok(made)
  await compressed.make('gzip')
  t.equal(compressed.get('gzip'), made)
  t.equal(compressed.get('br'), undefined)
})
