import t from 'tap'
import { connect, get, NOON, startManual } from './clients.ts'

const MINUTE = 60_000

t.test('Upbit lists its markets with names, and with events when asked', async t => {
  const { simulator } = await startManual(t)
  const plain = await get(`${simulator.upbitRestUrl}/v1/market/all`)
  t.strictSame(plain.body[0], { market: 'KRW-BTC', korean_name: '비트코인', english_name: 'Bitcoin' })
  const detailed = await get(`${simulator.upbitRestUrl}/v1/market/all?is_details=true`)
  t.match(detailed.body[0].market_event, { warning: false, caution: { PRICE_FLUCTUATIONS: false } })
  t.match(plain.headers.get('remaining-req'), /^group=market; min=\d+; sec=9$/)
})

t.test(
  'Upbit candles: newest first, `to` exclusive, at most 200, minutes without a trade missing',
  async t => {
    const { simulator } = await startManual(t)
    const candles = `${simulator.upbitRestUrl}/v1/candles/minutes/1`
    const one = await get(`${candles}?market=KRW-BTC`)
    t.match(one.body, { length: 1 })
    t.equal(one.body[0].candle_date_time_utc, '2026-11-20T13:37:00')
    t.equal(one.body[0].candle_date_time_kst, '2026-11-20T22:37:00')
    t.equal(
      one.body[0].trade_price,
      simulator.prices.lastTrade('upbit', 'KRW-BTC', NOON)?.price,
      'the open minute',
    )
    const page = await get(`${candles}?market=KRW-BTC&count=500&to=2026-11-20T13:00:00Z`)
    t.equal(page.body.length, 200)
    t.equal(page.body[0].candle_date_time_utc, '2026-11-20T12:59:00')
    t.equal(page.body[199].candle_date_time_utc, '2026-11-20T09:40:00')
    const korean = await get(`${candles}?market=KRW-BTC&to=2026-11-20T22:00:00%2B09:00`)
    t.equal(korean.body[0].candle_date_time_utc, '2026-11-20T12:59:00')
    const quiet = await get(`${candles}?market=KRW-IQ&count=5`)
    const times = quiet.body.map((row: { candle_date_time_utc: string }) =>
      Date.parse(`${row.candle_date_time_utc}Z`),
    )
    t.equal(times.length, 5)
    t.ok(times[0] - times[4] > 10 * MINUTE)
  },
)

t.test('Upbit candles of an hour are the fold of their minutes', async t => {
  const { simulator } = await startManual(t)
  const { body } = await get(
    `${simulator.upbitRestUrl}/v1/candles/minutes/60?market=KRW-ETH&to=2026-11-20T13:00:00Z`,
  )
  const open = Date.UTC(2026, 10, 20, 12)
  const minutes = Array.from({ length: 60 }, (_, i) =>
    simulator.prices.candle('upbit', 'KRW-ETH', open + i * MINUTE),
  )
  t.match(body[0], {
    opening_price: minutes[0]?.open,
    trade_price: minutes[59]?.close,
    high_price: Math.max(...minutes.map(minute => minute?.high ?? 0)),
    unit: 60,
  })
})

t.test('Upbit says what is wrong', async t => {
  const { simulator } = await startManual(t, { limits: false })
  const url = `${simulator.upbitRestUrl}/v1`
  for (const path of ['ticker?markets=KRW-BTC,KRW-NOSUCH', 'candles/minutes/1?market=KRW-NOSUCH']) {
    const { status, body } = await get(`${url}/${path}`)
    t.equal(status, 404)
    t.strictSame(body, { error: { name: 404, message: 'Code not found' } })
  }
  for (const query of ['2?market=KRW-BTC', '1?market=KRW-BTC&count=0', '1?market=KRW-BTC&to=noon']) {
    const { status, body } = await get(`${url}/candles/minutes/${query}`)
    t.equal(status, 400, query)
    t.match(body, { error: { message: /Invalid/ } })
  }
})

t.test('Upbit tickers by code and by quote', async t => {
  const { simulator } = await startManual(t)
  const { body } = await get(`${simulator.upbitRestUrl}/v1/ticker?markets=KRW-BTC,KRW-USDT`)
  t.strictSame(
    body.map(({ market }: { market: string }) => market),
    ['KRW-BTC', 'KRW-USDT'],
  )
  t.notOk('market_state' in body[0] || 'stream_type' in body[0] || 'code' in body[0])
  t.equal(body[0].trade_time_kst, `22${body[0].trade_time.slice(2)}`)
  const all = await get(`${simulator.upbitRestUrl}/v1/ticker/all?quote_currencies=KRW`)
  t.ok(all.body.length > 20)
})

t.test('the eleventh request of a group in a second gets 429, another group goes on', async t => {
  const { simulator, clock } = await startManual(t)
  const ticker = `${simulator.upbitRestUrl}/v1/ticker?markets=KRW-BTC`
  for (let i = 0; i < 10; i++) t.equal((await get(ticker)).status, 200)
  t.equal((await get(ticker)).status, 429)
  t.equal((await get(`${simulator.upbitRestUrl}/v1/market/all`)).status, 200)
  clock.advance(1_000)
  t.equal((await get(ticker)).status, 200)
})

t.test('exchangeInfo honours its filters', async t => {
  const { simulator } = await startManual(t)
  const info = async (query: string) => get(`${simulator.binanceRestUrl}/api/v3/exchangeInfo${query}`)
  const all = await info('')
  t.ok(all.body.symbols.some(({ status }: { status: string }) => status === 'BREAK'))
  t.ok(all.body.symbols.every((symbol: object) => 'permissionSets' in symbol))
  const trading = await info('?symbolStatus=TRADING&showPermissionSets=false')
  t.ok(trading.body.symbols.every(({ status }: { status: string }) => status === 'TRADING'))
  t.notOk(trading.body.symbols.some((symbol: object) => 'permissionSets' in symbol))
  t.equal((await info('?symbol=BTCUSDT')).body.symbols.length, 1)
  t.equal((await info('?symbols=["BTCUSDT","ETHUSDT"]')).body.symbols.length, 2)
  const bad = await info('?symbols=["BTCUSDT","NOSUCH"]')
  t.equal(bad.status, 400)
  t.match(bad.body, { code: -1121 })
})

t.test('klines: oldest first, both ends inclusive, a row for every minute', async t => {
  const { simulator } = await startManual(t)
  const klines = `${simulator.binanceRestUrl}/api/v3/klines?interval=1m`
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
  t.match((await get(`${simulator.binanceRestUrl}/api/v3/klines?symbol=BTCUSDT&interval=7m`)).body, {
    code: -1120,
  })
})

t.test('ticker/price, ticker/24hr, ping and time', async t => {
  const { simulator } = await startManual(t)
  const api = `${simulator.binanceRestUrl}/api/v3`
  const one = await get(`${api}/ticker/price?symbol=BTCUSDT`)
  t.equal(Number(one.body.price), simulator.prices.lastTrade('binance', 'BTCUSDT', NOON)?.price)
  t.equal(one.headers.get('x-mbx-used-weight-1m'), '2')
  t.equal((await get(`${api}/ticker/price?symbols=["BTCUSDT","ETHUSDT"]`)).body.length, 2)
  t.ok((await get(`${api}/ticker/price`)).body.length > 20)
  t.match((await get(`${api}/ticker/price?symbol=NOSUCH`)).body, { code: -1121 })
  t.match((await get(`${api}/ticker/price?symbol=PROSUSDT&symbolStatus=TRADING`)).body, { code: -1220 })
  t.match((await get(`${api}/ticker/24hr?symbol=BTCUSDT`)).body, {
    symbol: 'BTCUSDT',
    lastPrice: one.body.price,
  })
  t.strictSame((await get(`${api}/ping`)).body, {})
  t.strictSame((await get(`${api}/time`)).body, { serverTime: NOON })
})

t.test('too much weight gets 429 with Retry-After, going on gets 418', async t => {
  const { simulator, clock } = await startManual(t)
  const heavy = `${simulator.binanceRestUrl}/api/v3/ticker/24hr`
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

t.test('closing ends the port and every connection, and may be done twice', async t => {
  const { simulator } = await startManual(t)
  const client = await connect(t, `${simulator.binanceWsUrl}/ws`)
  await Promise.all([simulator.close(), simulator.close()])
  await client.closed
  await t.rejects(get(`${simulator.url}/api/v3/ping`))
})
