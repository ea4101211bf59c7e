import t from 'tap'
import { get, NOON, startManual } from '../clients.ts'

const MINUTE = 60_000

t.test('exchangeInfo honours its filters', async t => {
  const { simulator } = await startManual(t)
  const info = async (query: string) => get(`${simulator.url}/api/v3/exchangeInfo${query}`)
  const all = await info('')
  t.ok(all.body.symbols.some(({ status }: { status: string }) => status === 'BREAK'))
  const trading = await info('?symbolStatus=TRADING')
  t.ok(trading.body.symbols.every(({ status }: { status: string }) => status === 'TRADING'))
  for (const query of ['?symbols=["BTCUSDT"]', '?symbol=BTCUSDT']) {
    t.match(await info(query), { status: 400, body: { code: -1121 } }, query)
  }
})

t.test('klines: oldest first, both ends inclusive, a row for every minute', async t => {
  const { simulator } = await startManual(t)
  const klines = `${simulator.url}/api/v3/klines?interval=1m`
  const from = Date.UTC(2026, 10, 20, 12)
  const hour = await get(`${klines}&symbol=IQUSDT&startTime=${from}&endTime=${from + 59 * MINUTE}`)
  t.strictSame(
    hour.body.map((row: number[]) => row[0]),
    Array.from({ length: 60 }, (_, i) => from + i * MINUTE),
  )
  let close = simulator.prices.lastTrade('binance', 'IQUSDT', from)?.price ?? 0
  for (const row of hour.body) {
    t.equal(row.length, 12)
    t.equal(row[6], row[0] + MINUTE - 1)
    const candle = simulator.prices.candle('binance', 'IQUSDT', row[0])
    close = candle?.close ?? close
    t.equal(Number(row[4]), close)
    t.equal(Number(row[5]) === 0, candle === undefined, 'volume 0 when idle')
  }
  t.equal((await get(`${klines}&symbol=BTCUSDT`)).body.length, 500)
  const most = await get(`${klines}&symbol=DOTUSDT&limit=5000`)
  t.equal(most.body.length, 1_000)
  t.equal(most.body[999][0], Math.floor(NOON / MINUTE) * MINUTE, 'the open minute comes last')
  t.match((await get(`${klines}&symbol=NOSUCH`)).body, { code: -1121 })
  t.match((await get(`${simulator.url}/api/v3/klines?symbol=BTCUSDT&interval=7m`)).body, {
    code: -1120,
  })
})

t.test('too much weight gets 429 with Retry-After, and more requests get 418', async t => {
  const { simulator, clock } = await startManual(t, { limits: 0.1 })
  const heavy = `${simulator.url}/api/v3/exchangeInfo`
  let answer = await get(heavy)
  while (answer.status === 200) answer = await get(heavy)
  t.equal(answer.status, 429)
  t.equal(answer.headers.get('retry-after'), '30')
  t.match(answer.body, { code: -1003 })
  while (answer.status === 429) answer = await get(heavy)
  t.equal(answer.status, 418)
  clock.advance(120_000)
  t.equal((await get(heavy)).status, 200)
})
