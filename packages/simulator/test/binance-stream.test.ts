import t from 'tap'
import { WebSocket } from 'ws'
import { connect, startManual } from './clients.ts'

const MINI = ['E', 'c', 'e', 'h', 'l', 'o', 'q', 's', 'v']
const FULL = 'e E s p P w x c Q b B a A o h l v q O C F L n'.split(' ').sort()

t.test('a combined stream sends wrapped text frames once a second with the last price before E', async t => {
  const { simulator, run } = await startManual(t)
  const client = await connect(
    t,
    `${simulator.binanceWsUrl}/stream?streams=btcusdt@miniTicker/ethusdt@miniTicker`,
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

t.test(
  'a quiet coin sends nothing while its statistics stay, and may send an old price with a new volume',
  async t => {
    const { simulator, run } = await startManual(t, {
      keepalive: { binancePingMs: Number.POSITIVE_INFINITY },
    })
    const client = await connect(t, `${simulator.binanceWsUrl}/ws/iqusdt@miniTicker`)
    run(1_800_000, 10_000)
    await client.settled()
    const frames = client.frames.map(frame => JSON.parse(frame.text))
    t.ok(frames.length > 3 && frames.length < 100, `${frames.length} frames in half an hour`)
    const isOld = (E: number): boolean =>
      simulator.prices.trades('binance', 'IQUSDT', E - 1_000, E).length === 0
    const old = frames.findIndex(({ E }, i) => i > 0 && isOld(E))
    t.ok(old > 0)
    t.equal(frames[old].c, frames[old - 1].c)
    t.not(frames[old].v, frames[old - 1].v)
  },
)

t.test('all mini tickers come as one array of the changed symbols', async t => {
  const { simulator, run } = await startManual(t)
  const client = await connect(t, `${simulator.binanceWsUrl}/ws/!miniTicker@arr`)
  run(2_000)
  const frame = await client.next()
  t.ok(frame.length > 3)
  t.notOk(
    frame.some(({ s }: { s: string }) => s === 'PROSUSDT'),
    'a halted symbol has no statistics',
  )
})

t.test('ticker and trade streams have their documented fields', async t => {
  const { simulator, run } = await startManual(t)
  const client = await connect(t, `${simulator.binanceWsUrl}/ws/btcusdt@ticker/btcusdt@trade`)
  run(3_000)
  t.strictSame(Object.keys(await client.next(frame => frame.e === '24hrTicker')).sort(), FULL)
  run(3_000)
  const trade = await client.next(frame => frame.e === 'trade')
  t.strictSame(Object.keys(trade).sort(), ['E', 'M', 'T', 'e', 'm', 'p', 'q', 's', 't'])
})

t.test('subscriptions are acknowledged, listed, taken back, and wrapped when asked', async t => {
  const { simulator, run, clock } = await startManual(t)
  const client = await connect(t, `${simulator.binanceWsUrl}/ws`)
  client.send({ method: 'SUBSCRIBE', params: ['btcusdt@miniTicker', 'nosuch@miniTicker'], id: 1 })
  t.strictSame(await client.next(), { result: null, id: 1 })
  client.send({ method: 'LIST_SUBSCRIPTIONS', id: 'b' })
  t.strictSame(await client.next(), { result: ['btcusdt@miniTicker', 'nosuch@miniTicker'], id: 'b' })
  run(1_000)
  t.match(await client.next(), { e: '24hrMiniTicker' })
  client.send({ method: 'SET_PROPERTY', params: ['combined', true], id: 2 })
  t.strictSame(await client.next(), { result: null, id: 2 })
  run(1_000)
  t.match(await client.next(), { stream: 'btcusdt@miniTicker', data: { s: 'BTCUSDT' } })
  client.send({ method: 'UNSUBSCRIBE', params: ['btcusdt@miniTicker'], id: 3 })
  t.strictSame(await client.next(), { result: null, id: 3 })
  const count = client.frames.length
  run(3_000)
  clock.advance(1_000)
  await client.settled()
  t.equal(client.frames.length, count)
})

t.test('bad requests get one of both error shapes', async t => {
  const { simulator, clock } = await startManual(t)
  const client = await connect(t, `${simulator.binanceWsUrl}/ws`)
  client.send('{')
  t.match(await client.next(), { code: 3, msg: /Invalid JSON/ })
  client.send({ method: 'SHOUT', id: 7 })
  t.match(await client.next(), { error: { code: 2, msg: String }, id: 7 })
  client.send({ method: 'SET_PROPERTY', params: ['colour', true], id: 8 })
  t.match(await client.next(), { error: { code: 0 }, id: 8 })
  clock.advance(1_000)
  client.send({ method: 'SET_PROPERTY', params: ['combined', 'yes'], id: 9 })
  t.match(await client.next(), { error: { code: 1 }, id: 9 })
  client.send({ method: 'SUBSCRIBE', params: Array.from({ length: 1_025 }, (_, i) => `x${i}@trade`), id: 10 })
  t.match(await client.next(), { error: { code: 4, msg: 'Too many subscriptions' }, id: 10 })
})

t.test('more than five messages in a second close the connection with 1008', async t => {
  const { simulator } = await startManual(t)
  const client = await connect(t, `${simulator.binanceWsUrl}/ws`)
  for (let id = 0; id < 6; id++) client.send({ method: 'LIST_SUBSCRIPTIONS', id })
  t.strictSame(await client.closed, { code: 1008, reason: 'Too many requests' })
})

t.test('a client that answers no ping is cut after 60 seconds, one that answers stays', async t => {
  const { simulator, run } = await startManual(t)
  const deaf = await connect(t, `${simulator.binanceWsUrl}/ws`, { autoPong: false })
  const alive = await connect(t, `${simulator.binanceWsUrl}/ws`)
  for (let i = 0; i < 5; i++) {
    run(20_000)
    await alive.settled()
  }
  await deaf.closed
  t.equal(alive.socket.readyState, WebSocket.OPEN)
})

t.test('a connection ends at its greatest age', async t => {
  const { simulator, run } = await startManual(t, { maxConnectionMs: 5_000 })
  const client = await connect(t, `${simulator.binanceWsUrl}/ws`)
  run(4_999)
  await client.settled()
  run(1)
  t.match(await client.closed, { code: 1001 })
})
