import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { WebSocket } from 'ws'
import { bothClients, connect, get, NOON, parsed, startManual, tickersOf } from '../clients.ts'

const MINUTE = 60_000
const OPEN = Math.floor(NOON / MINUTE) * MINUTE

t.test('half-open: existing sockets get nothing, not even a pong, and new ones work', async t => {
  const { simulator, upbit, run } = await bothClients(t)
  const undo = simulator.faults.set({ kind: 'half-open', exchange: 'upbit' })
  const before = upbit.frames.length
  upbit.socket.ping()
  const second = await connect(t, simulator.env.UPBIT_WS_URL)
  second.send(tickersOf('KRW-BTC'))
  await second.next()
  run(5_000)
  await second.next(frame => frame.stream_type === 'REALTIME')
  t.equal(upbit.frames.length, before)
  t.equal(upbit.pongs(), 1, 'only the pong from before')
  undo()
  undo()
  await upbit.settled()
  run(5_000)
  await upbit.settled()
  t.ok(upbit.frames.length > before)
})

t.test('shutdown: announced in the shape of the connection', async t => {
  const { simulator, binance } = await bothClients(t)
  const raw = await connect(t, `${simulator.env.BINANCE_WS_URL}/ws`)
  simulator.faults.set({ kind: 'shutdown', exchange: 'binance' })
  t.match(await raw.next(), { e: 'serverShutdown', E: Number })
  t.match(await binance.next(frame => frame.stream === '!serverShutdown'), { data: { e: 'serverShutdown' } })
  t.strictSame(simulator.faults.list(), [])
})

t.test('drop: with a time, new connections are accepted and cut until it is over', async t => {
  const { simulator, clock } = await startManual(t, { limits: false })
  simulator.faults.set({ kind: 'drop', exchange: 'upbit', forMs: 600_000 })
  t.match(await (await connect(t, simulator.env.UPBIT_WS_URL)).closed, { code: 1006 })
  clock.advance(599_999)
  t.match(await (await connect(t, simulator.env.UPBIT_WS_URL)).closed, { code: 1006 })
  clock.advance(1)
  const client = await connect(t, simulator.env.UPBIT_WS_URL)
  client.send(tickersOf('KRW-BTC'))
  t.match(await client.next(), { stream_type: 'SNAPSHOT' })
})

t.test('refuse: with Retry-After or without, a share of requests, one market, one path', async t => {
  const { simulator } = await startManual(t, { limits: false })
  const candles = (market: string) => get(`${simulator.url}/v1/candles/minutes/1?market=${market}`)
  const klines = () => get(`${simulator.url}/api/v3/klines?symbol=BTCUSDT&interval=1m`)
  for (const retryAfter of [undefined, 7, 'Fri, 20 Nov 2026 13:40:00 GMT']) {
    const wait = retryAfter === undefined ? {} : { retryAfter }
    const undo = simulator.faults.set({ kind: 'refuse', exchange: 'binance', status: 418, ...wait })
    const { status, headers, body } = await klines()
    t.equal(status, 418)
    t.match(body, { code: -1003, msg: String })
    t.equal(headers.get('retry-after'), retryAfter === undefined ? null : String(retryAfter))
    const socket = new WebSocket(`${simulator.env.BINANCE_WS_URL}/ws`)
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
    t.equal(response.headers['retry-after'], retryAfter === undefined ? undefined : String(retryAfter))
    undo()
  }
  const path = '/v1/candles'
  const alone = simulator.faults.set({
    kind: 'refuse',
    exchange: 'upbit',
    status: 404,
    market: 'KRW-XRP',
    path,
  })
  t.match(await candles('KRW-XRP'), { status: 404, body: { error: { name: 404 } } })
  t.equal((await candles('KRW-BTC')).status, 200)
  t.equal((await get(`${simulator.url}/v1/market/all`)).status, 200)
  alone()
  simulator.faults.set({ kind: 'refuse', exchange: 'upbit', status: 429, on: 'rest', path, share: 0.1 })
  let refused = 0
  for (let i = 0; i < 300; i++) if ((await candles('KRW-BTC')).status === 429) refused += 1
  t.ok(refused > 10 && refused < 60, `${refused} of 300`)
  await t.resolves(connect(t, simulator.env.UPBIT_WS_URL))
})

t.test('everything sent is reported as it was sent', async t => {
  const { simulator, sent, upbit, fresh } = await bothClients(t)
  simulator.faults.set({ kind: 'price', exchange: 'upbit', market: 'KRW-BTC', factor: 2, forMs: 3_000 })
  await fresh(upbit)
  const recorded = sent.filter(frame => frame.exchange === 'upbit')
  t.strictSame(
    recorded.map(frame => frame.text),
    upbit.frames.map(frame => frame.text),
  )
  t.equal(recorded.at(-1)?.connection, 1)
})

t.test('price: a true one is in frames, candles and what was traded, and stays there', async t => {
  const { simulator, upbit, fresh, clock } = await bothClients(t)
  const from = Math.ceil(clock.now() / MINUTE) * MINUTE
  const priceNow = () => simulator.prices.lastTrade('upbit', 'KRW-BTC', clock.now())?.price ?? Number.NaN
  const usual = priceNow()
  const factor = (at: number) => (at < from ? 1 : 0.5)
  const undo = simulator.faults.set({
    kind: 'price',
    exchange: 'upbit',
    market: 'KRW-BTC',
    factor,
    isTrue: true,
  })
  await fresh(upbit, from + MINUTE - clock.now())
  undo()
  const ratio = (price: number) => Math.round((price / usual) * 10) / 10
  const traded = simulator.prices.trades('upbit', 'KRW-BTC', from, from + MINUTE)
  t.strictSame([...new Set(traded.map(({ price }) => ratio(price)))], [0.5])
  const framed = parsed(upbit.frames).filter(
    frame => frame.code === 'KRW-BTC' && frame.trade_timestamp >= from,
  )
  const priceAt = new Map(traded.map(({ at, price }) => [at, price]))
  t.ok(framed.length > 0)
  for (const { trade_timestamp: at, trade_price: price } of framed) t.equal(price, priceAt.get(at))
  await fresh(upbit, MINUTE)
  t.equal(ratio(priceNow()), 1, 'it is over')
  const to = new Date(from + MINUTE).toISOString()
  const { body } = await get(`${simulator.url}/v1/candles/minutes/1?market=KRW-BTC&count=1&to=${to}`)
  t.equal(body[0].trade_price, traded.at(-1)?.price)
})

t.test('outage: may lie in the past, and is removed from there when it ends', async t => {
  const { simulator } = await startManual(t, { limits: false })
  const [from, to] = [OPEN - 10 * MINUTE, OPEN - 5 * MINUTE]
  const count = async () => {
    const query = `symbol=BTCUSDT&interval=1m&startTime=${from}&endTime=${to}`
    return (await get(`${simulator.url}/api/v3/klines?${query}`)).body.length
  }
  t.equal(await count(), 6)
  const undo = simulator.faults.set({ kind: 'outage', exchange: 'binance', from, to, klines: 'none' })
  t.equal(await count(), 1, 'the engine was down: no klines at all')
  t.equal(simulator.prices.traded('upbit', 'KRW-BTC', from, to), true, 'the other exchange traded')
  undo()
  t.equal(await count(), 6)
})

t.test('an outage that is over stays in the past, for as long as anybody asks for its trades', async t => {
  const { simulator, clock } = await startManual(t)
  const [from, to] = [clock.now(), clock.now() + MINUTE]
  const end = simulator.faults.set({ kind: 'outage', exchange: 'upbit' })
  clock.advance(MINUTE)
  end()
  const isTradedAfter = (days: number) => {
    clock.advance(to + days * 1_440 * MINUTE - clock.now())
    // Whoever sets a fault has old ones forgotten.
    simulator.faults.set({ kind: 'drop', exchange: 'binance' })
    return simulator.prices.traded('upbit', 'KRW-BTC', from, to)
  }
  t.strictSame([0, 5, 6.9, 7].map(isTradedAfter), [false, false, false, true])
})

t.test('late candles: a candle is there so long after its minute', async t => {
  const { simulator, clock, run } = await startManual(t)
  simulator.faults.set({ kind: 'late-candles', exchange: 'upbit', lateMs: 40_000 })
  const newest = async () => {
    const { body } = await get(`${simulator.url}/v1/candles/minutes/1?market=KRW-BTC&count=1`)
    return Date.parse(`${body[0].candle_date_time_utc}Z`)
  }
  const end = Math.ceil((clock.now() + 1) / 60_000) * 60_000
  run(end + 39_000 - clock.now())
  t.equal(await newest(), end - 120_000)
  run(2_000)
  t.equal(await newest(), end - 60_000)
})
