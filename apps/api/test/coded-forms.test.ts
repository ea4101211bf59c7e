import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { CodedForms, codedForms } from '../src/documents/coded-forms.ts'
import { createQueue } from '../src/documents/queue.ts'

const text = JSON.stringify({ data: Array.from({ length: 400 }, (_, n) => ({ n })) })
const chunks = [text.slice(0, 9), Buffer.from(text.slice(9))]

t.test('coding cuts a body to a third or less, and decoding gives it back whole', async t => {
  const forms = new CodedForms(chunks, createQueue(2))
  t.equal(forms.get('br'), undefined)
  await Promise.all([forms.make('br'), forms.make('gzip')])
  const [br, gzip] = [forms.get('br') ?? Buffer.of(), forms.get('gzip') ?? Buffer.of()]
  t.equal(String(brotliDecompressSync(br)), text)
  t.equal(String(gunzipSync(gzip)), text)
  for (const { length, buffer } of [br, gzip]) {
    t.ok(length < text.length / 3)
    t.equal(buffer.byteLength, length, 'it is no part of something larger')
  }
})

t.test('a small body is not worth coding', async t => {
  t.equal(codedForms(['x'.repeat(859)], createQueue(2)), undefined)
  t.ok(codedForms(['x'.repeat(860)], createQueue(2)))
})

t.test('each form is made once for all who wait, and no other', async t => {
  const forms = new CodedForms(chunks, createQueue(2))
  const first = forms.make('gzip')
  t.equal(forms.make('gzip'), first)
  await first
  t.equal(forms.make('gzip'), first)
  t.ok(forms.get('gzip'))
  t.equal(forms.get('br'), undefined)
})
