import t from 'tap'
import { connect, startManual } from '../clients.ts'

const MINI = ['E', 'c', 'e', 'h', 'l', 'o', 'q', 's', 'v']

t.test('a combined stream sends wrapped text frames once a second with the last price before E', async t => {
  const { simulator, run } = await startManual(t)
  const client = await connect(
    t,
    `${simulator.env.BINANCE_WS_URL}/stream?streams=btcusdt@miniTicker/ethusdt@miniTicker`,
  )
  run(10_000, 250)
  await client.settled()
  const frames = client.frames.map(frame => JSON.parse(frame.text))
  t.ok(client.frames.every(frame => !frame.binary))
  const btc = frames.filter(frame => frame.stream === 'btcusdt@miniTicker').map(frame => frame.data)
  t.ok(btc.length > 7 && btc.length <= 10, `${btc.length} in ten seconds`)
  for (const data of btc) {
    t.strictSame(Object.keys(data).sort(), MINI)
    t.match(data, { e: '24hrMiniTicker', s: 'BTCUSDT', c: /^\d+\.\d{8}$/ })
    t.equal(Number(data.c), simulator.prices.lastTrade('binance', 'BTCUSDT', data.E)?.price)
  }
  t.ok(btc.every(data => (data.E - btc[0].E) % 1_000 === 0))
})

t.test('the volume rises when a trade comes in and falls when one leaves the 24-hour window', async t => {
  const { simulator, run } = await startManual(t)
  const client = await connect(t, `${simulator.env.BINANCE_WS_URL}/ws`)
  client.send({ method: 'SUBSCRIBE', params: ['iqusdt@miniTicker'], id: 1 })
  await client.next()
  run(1_800_000, 10_000)
  await client.settled()
  const frames = client.frames.slice(1).map(frame => JSON.parse(frame.text))
  t.ok(frames.length > 3 && frames.length < 100, `${frames.length} frames in half an hour`)
  const traded = (E: number) => simulator.prices.traded('binance', 'IQUSDT', E - 1_000, E)
  let old = 0
  for (const [i, { E, c, v }] of frames.entries()) {
    const before = frames[i - 1]
    if (!before || traded(E - 86_400_000) === traded(E)) continue
    t.equal(Number(v) > Number(before.v), traded(E), new Date(E).toISOString())
    if (traded(E)) continue
    old += 1
    t.equal(c, before.c, 'an old price with a smaller volume')
  }
  t.ok(old > 0)
})

t.test('subscribing and unsubscribing are acknowledged', async t => {
  const { simulator, run, clock } = await startManual(t)
  const client = await connect(t, `${simulator.env.BINANCE_WS_URL}/ws`)
  client.send({ method: 'SUBSCRIBE', params: ['btcusdt@miniTicker', 'nosuch@miniTicker'], id: 1 })
  t.strictSame(await client.next(), { result: null, id: 1 })
  run(1_000)
  t.match(await client.next(), { e: '24hrMiniTicker' })
  client.send({ method: 'UNSUBSCRIBE', params: ['btcusdt@miniTicker'], id: 3 })
  t.strictSame(await client.next(), { result: null, id: 3 })
  const count = client.frames.length
  run(3_000)
  clock.advance(1_000)
  await client.settled()
  t.equal(client.frames.length, count)
})

t.test('bad requests get an error with their id', async t => {
  const { simulator } = await startManual(t)
  const client = await connect(t, `${simulator.env.BINANCE_WS_URL}/ws`)
  client.send('{')
  t.match(await client.next(), { error: { code: 2, msg: 'Invalid request' }, id: null })
  client.send({ method: 'SHOUT', id: 7 })
  t.match(await client.next(), { error: { code: 2, msg: 'Invalid request' }, id: 7 })
  client.send({ method: 'SUBSCRIBE', params: Array.from({ length: 1_025 }, (_, i) => `x${i}@trade`), id: 10 })
  t.match(await client.next(), { error: { code: 4, msg: 'Too many subscriptions' }, id: 10 })
})

t.test('more than five messages in a second close the connection with 1008', async t => {
  const { simulator } = await startManual(t)
  const client = await connect(t, `${simulator.env.BINANCE_WS_URL}/ws`)
  for (let id = 0; id < 6; id++) client.send({ method: 'SUBSCRIBE', params: [], id })
  t.strictSame(await client.closed, { code: 1008, reason: 'Too many requests' })
})
