import t from 'tap'
import { connect, startManual, tickersOf } from '../clients.ts'

t.test('sends one SNAPSHOT per code in binary frames, then every trade in real time', async t => {
  const { simulator, clock, run } = await startManual(t)
  const client = await connect(t, simulator.env.UPBIT_WS_URL)
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

t.test('a new subscription replaces the old one, and joins the codes of its type objects', async t => {
  const { simulator, run } = await startManual(t)
  const client = await connect(t, simulator.env.UPBIT_WS_URL)
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
  const client = await connect(t, simulator.env.UPBIT_WS_URL)
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
  const client = await connect(t, simulator.env.UPBIT_WS_URL)
  for (let i = 0; i < 6; i++) client.send(tickersOf('KRW-BTC'))
  t.match(await client.next(frame => 'error' in frame), { error: { name: 'TOO_MANY_REQUEST' } })
  for (let i = 0; i < 4; i++) await connect(t, simulator.env.UPBIT_WS_URL)
  await t.rejects(connect(t, simulator.env.UPBIT_WS_URL), /429/)
  clock.advance(1_000)
  await t.resolves(connect(t, simulator.env.UPBIT_WS_URL))
})
