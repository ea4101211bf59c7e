import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { boardOf, daysBefore, MINUTE, openTestApp, rowOf } from './board.ts'
import { DAILY, exchange, LIVE, type RawAnswer } from './raw.ts'

t.test('bodies are sent byte for byte, plain and compressed, in any script', async t => {
  const decoders: Record<string, (body: Buffer) => Buffer> = {
    identity: body => body,
    gzip: gunzipSync,
    br: brotliDecompressSync,
  }
  for (const count of [12, 300]) {
    const symbols = Array.from({ length: count }, (_, index) => `C${index}`)
    const rows = symbols.map(symbol => rowOf(symbol, MINUTE, `Ünïcøde ₿ 김치 ${symbol}`))
    const { app, listen } = await openTestApp(t, boardOf(MINUTE, symbols, { rows }))
    const { payload } = await app.inject(LIVE)
    t.equal(JSON.parse(payload).data[0].name, 'Ünïcøde ₿ 김치 C0')
    const port = await listen()
    for (const [coding, decode] of Object.entries(decoders)) {
      const head = `GET ${LIVE} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${coding}\r\n`
      // Twice on one connection: the second response begins where the first one's Content-Length ends.
      const answers = await exchange(port, `${head}\r\n${head}Connection: close\r\n\r\n`)
      t.strictSame(
        answers.map(({ headers, rawBody }) => [
          headers['content-encoding'] ?? 'identity',
          decode(rawBody).toString(),
        ]),
        [coding, coding].map(sent => [sent, payload]),
        `${count} coins, ${coding}`,
      )
    }
  }
})

t.test('any number of days is sent whole, a common number compressed', async t => {
  const { listen, reader, documents } = await openTestApp(t)
  reader.days.set('BTC', daysBefore('2026-11-20', 3_000))
  await documents.load('BTC')
  const port = await listen()
  const wanted = [1, 7, 30, 90, 364, 365, 366, 2_999, 3_001, 3_650]
  const requests = wanted.map(
    days => `GET ${DAILY}?days=${days} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br\r\n`,
  )
  const answers = await exchange(port, `${requests.join('\r\n')}Connection: close\r\n\r\n`)
  const isCoded = ({ headers }: RawAnswer) => headers['content-encoding'] === 'br'
  t.strictSame(
    wanted.filter((_, index) => isCoded(answers[index] ?? never())),
    [7, 30, 90, 365, 3_001, 3_650],
  )
  t.strictSame(
    answers.map(
      answer =>
        JSON.parse(String(isCoded(answer) ? brotliDecompressSync(answer.rawBody) : answer.body)).data.length,
    ),
    wanted.map(days => Math.min(days, 3_001)),
  )
  t.equal(new Set(answers.map(({ headers }) => headers.etag)).size, wanted.length - 1)
})

function never(): never {
  throw new Error('no answer at all')
}
