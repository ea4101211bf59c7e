import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import pLimit from 'p-limit'
import t from 'tap'
import { compressedBody, type Limit, QUALITY } from '../src/documents/document.ts'

const text = JSON.stringify({ data: Array.from({ length: 400 }, (_, n) => ({ n })) })
const body = [text.slice(0, 9), Buffer.from(text.slice(9))]

t.test('each coding is made once for all who wait, whole and in a third of the bytes', async t => {
  const compressed = compressedBody(body, pLimit(2), QUALITY.list)
  await Promise.all([compressed.make('gzip'), compressed.make('gzip')])
  const made = compressed.get('gzip')
  t.equal(compressed.get('br'), undefined)
  await Promise.all([compressed.make('br'), compressed.make('gzip')])
  t.equal(compressed.get('gzip'), made)
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
  const limit: Limit = async work => {
    const failure = failures.pop()
    if (failure) throw failure
    return work()
  }
  const compressed = compressedBody(body, limit, QUALITY.list)
  await t.rejects(compressed.make('br'), { message: 'no memory' })
  await compressed.make('br')
  t.ok(compressed.get('br'))
})
