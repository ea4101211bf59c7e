import t from 'tap'
import { connect, get, startManual, tickersOf } from '../clients.ts'

const NAMES =
  'type code opening_price high_price low_price trade_price prev_closing_price change change_price signed_change_price change_rate signed_change_rate trade_volume acc_trade_volume acc_trade_volume_24h acc_trade_price acc_trade_price_24h trade_date trade_time trade_timestamp ask_bid acc_ask_volume acc_bid_volume highest_52_week_price highest_52_week_date lowest_52_week_price lowest_52_week_date market_state is_trading_suspended delisting_date market_warning timestamp stream_type'

t.test('sends one SNAPSHOT per code in binary frames, then every trade in real time', async t => {
  const { simulator, clock, run } = await startManual(t)
  const client = await connect(t, simulator.upbitWsUrl)
  const from = clock.now()
  client.send(tickersOf('KRW-BTC', 'KRW-IQ', 'KRW-NOSUCH'))
  for (const code of ['KRW-BTC', 'KRW-IQ']) {
    const snapshot = await client.next()
    const last = simulator.prices.lastTrade('upbit', code, from)
    t.match(snapshot, { type: 'ticker', code, stream_type: 'SNAPSHOT', trade_price: last?.price })
    t.equal(snapshot.trade_timestamp, last?.at)
  }
  run(30_000, 700)
  await client.settled()
  // A trade is published up to 8 ms after it was made.
  const trades = simulator.prices.trades('upbit', 'KRW-BTC', from, clock.now() - 8)
  const sent = client.frames.slice(2).map(frame => JSON.parse(frame.text))
  t.strictSame(
    sent
      .slice(0, trades.length)
      .map(frame => [frame.code, frame.trade_price, frame.trade_timestamp, frame.stream_type]),
    trades.map(trade => ['KRW-BTC', trade.price, trade.at, 'REALTIME']),
  )
  t.ok(client.frames.every(frame => frame.binary))
})

t.test('a ticker has the documented fields', async t => {
  const { simulator } = await startManual(t)
  const client = await connect(t, simulator.upbitWsUrl)
  client.send([...tickersOf('KRW-BTC'), { format: 'DEFAULT' }])
  t.strictSame(Object.keys(await client.next()).sort(), NAMES.split(' ').sort())
})

t.test('a new subscription replaces the old one, and joins the codes of its type objects', async t => {
  const { simulator, run } = await startManual(t)
  const client = await connect(t, simulator.upbitWsUrl)
  client.send(tickersOf('KRW-BTC'))
  await client.next()
  client.send([...tickersOf('KRW-ETH'), { type: 'ticker', codes: ['KRW-XRP'] }])
  t.match(await client.next(), { type: 'ticker', code: 'KRW-ETH', stream_type: 'SNAPSHOT' })
  t.match(await client.next(), { type: 'ticker', code: 'KRW-XRP', stream_type: 'SNAPSHOT' })
  run(20_000)
  await client.settled()
  const later = client.frames.slice(3).map(frame => JSON.parse(frame.text))
  t.strictSame(new Set(later.map(({ code }) => code)), new Set(['KRW-ETH', 'KRW-XRP']))
})

t.test('what cannot be read, or is not simulated, is refused with an error frame', async t => {
  const { simulator } = await startManual(t, { limits: false })
  const client = await connect(t, simulator.upbitWsUrl)
  for (const message of [
    '{',
    '{"ticket":"x"}',
    [{ type: 'ticker', codes: ['KRW-BTC'] }],
    [{ ticket: 'x' }],
    [{ ticket: 'x' }, { type: 'ticker' }],
    [{ ticket: 'x' }, { type: 'trade', codes: ['KRW-BTC'] }],
    [...tickersOf('KRW-BTC'), { format: 'SIMPLE' }],
  ]) {
    client.send(message)
    t.match(await client.next(), { error: { name: 'WRONG_FORMAT', message: String } })
  }
})

t.test('more than five messages or handshakes in a second are refused', async t => {
  const { simulator, clock } = await startManual(t)
  const client = await connect(t, simulator.upbitWsUrl)
  for (let i = 0; i < 6; i++) client.send(tickersOf('KRW-BTC'))
  t.match(await client.next(frame => 'error' in frame), { error: { name: 'TOO_MANY_REQUEST' } })
  for (let i = 0; i < 4; i++) await connect(t, simulator.upbitWsUrl)
  await t.rejects(connect(t, simulator.upbitWsUrl), /429/)
  clock.advance(1_000)
  await t.resolves(connect(t, simulator.upbitWsUrl))
})

t.test('a coin listed while running appears, and a delisted one disappears', async t => {
  const { simulator, run } = await startManual(t)
  const upbit = { asset: 'NEW', koreanName: '새', englishName: 'New', tradesPerMinute: 30 }
  const client = await connect(t, simulator.upbitWsUrl)
  client.send(tickersOf('KRW-NEW', 'KRW-BTC'))
  await client.next(frame => frame.code === 'KRW-BTC')
  simulator.list({ id: 'NEW', price: 3, upbit, binance: { asset: 'NEW', tradesPerMinute: 30 } })
  run(20_000)
  t.match(await client.next(frame => frame.code === 'KRW-NEW'), { stream_type: 'REALTIME' })
  const listed = async (): Promise<boolean> => {
    const { body } = await get(`${simulator.upbitRestUrl}/v1/market/all`)
    return body.some(({ market }: { market: string }) => market === 'KRW-NEW')
  }
  t.equal(await listed(), true)
  const relist = simulator.delist('KRW-NEW')
  t.equal(await listed(), false)
  await client.settled()
  const before = client.frames.length
  run(20_000)
  await client.settled()
  t.notOk(client.frames.slice(before).some(frame => frame.text.includes('KRW-NEW')))
  relist()
  t.equal(await listed(), true)
})
