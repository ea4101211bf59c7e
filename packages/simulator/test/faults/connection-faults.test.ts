import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { WebSocket } from 'ws'
import { bothClients, connect, get, startManual, tickersOf } from '../clients.ts'

t.test('silence: pings are answered, no frame comes, and it ends after its time', async t => {
  const { simulator, upbit, binance, fresh } = await bothClients(t)
  simulator.faults.set({ kind: 'silence', exchange: 'both', forMs: 5_000 })
  t.equal((await fresh(upbit, 4_900)).length, 0)
  const before = binance.frames.length
  await binance.settled()
  t.equal(binance.frames.length, before)
  t.ok((await fresh(upbit)).length > 0, 'frames again')
  t.strictSame(simulator.faults.list(), [])
})

t.test('half-open: existing sockets get nothing, not even a pong, and new ones work', async t => {
  const { simulator, upbit, run } = await bothClients(t)
  const undo = simulator.faults.set({ kind: 'half-open', exchange: 'upbit' })
  const before = upbit.frames.length
  upbit.socket.ping()
  const second = await connect(t, simulator.upbitWsUrl)
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

t.test('drop: open sockets are cut', async t => {
  const { simulator, upbit, binance } = await bothClients(t)
  simulator.faults.set({ kind: 'drop', exchange: 'upbit' })
  t.match(await upbit.closed, { code: 1006 })
  t.equal(binance.socket.readyState, WebSocket.OPEN)
  simulator.faults.set({ kind: 'drop', exchange: 'binance' })
  t.match(await binance.closed, { code: 1006 })
  t.strictSame(simulator.faults.list(), [])
})

t.test('refuse: handshakes and REST get the status, or no answer at all', async t => {
  const { simulator } = await startManual(t, { limits: false })
  for (const status of [429, 418, 451, 403, 503]) {
    const undo = simulator.faults.set({ kind: 'refuse', exchange: 'upbit', status })
    await t.rejects(connect(t, simulator.upbitWsUrl), new RegExp(String(status)))
    const answer = await get(`${simulator.upbitRestUrl}/v1/market/all`)
    t.equal(answer.status, status)
    t.equal((await get(`${simulator.binanceRestUrl}/api/v3/ping`)).status, 200, 'the other exchange answers')
    undo()
  }
  await t.resolves(connect(t, simulator.upbitWsUrl))
  simulator.faults.set({ kind: 'refuse', exchange: 'binance', status: 'hang', on: 'ws' })
  const hanging = new WebSocket(`${simulator.binanceWsUrl}/ws`, { handshakeTimeout: 100 })
  const error = await new Promise(resolve => hanging.once('error', resolve))
  t.match(error, { message: /timed out/ })
  t.equal((await get(`${simulator.binanceRestUrl}/api/v3/ping`)).status, 200)
})

t.test('shutdown: announced in the shape of the connection', async t => {
  const { simulator, binance } = await bothClients(t)
  const raw = await connect(t, `${simulator.binanceWsUrl}/ws`)
  simulator.faults.set({ kind: 'shutdown', exchange: 'binance' })
  t.match(await raw.next(), { e: 'serverShutdown', E: Number })
  t.match(await binance.next(frame => frame.stream === '!serverShutdown'), { data: { e: 'serverShutdown' } })
  t.strictSame(simulator.faults.list(), [])
})

t.test('rest: answers are empty, half as long or cut', async t => {
  const { simulator } = await startManual(t, { limits: false })
  const markets = `${simulator.upbitRestUrl}/v1/market/all`
  const symbols = `${simulator.binanceRestUrl}/api/v3/exchangeInfo`
  const whole = (await get(markets)).body.length
  simulator.faults.set({ kind: 'rest', exchange: 'both', mode: 'empty', frames: 2 })
  t.strictSame((await get(markets)).body, [])
  t.strictSame((await get(symbols)).body.symbols, [])
  t.equal((await get(markets)).body.length, whole, 'over after two answers')
  const half = simulator.faults.set({ kind: 'rest', exchange: 'upbit', mode: 'half' })
  t.equal((await get(markets)).body.length, Math.floor(whole / 2))
  t.equal(
    (await get(`${simulator.upbitRestUrl}/v1/candles/minutes/1?market=KRW-BTC&count=10`)).body.length,
    5,
  )
  half()
  simulator.faults.set({ kind: 'rest', exchange: 'upbit', mode: 'truncated', path: '/v1/market', frames: 1 })
  await t.rejects(get(markets), SyntaxError)
})

t.test('drop: with a time, new connections are accepted and cut until it is over', async t => {
  const { simulator, clock } = await startManual(t, { limits: false })
  simulator.faults.set({ kind: 'drop', exchange: 'upbit', forMs: 600_000 })
  t.match(await (await connect(t, simulator.upbitWsUrl)).closed, { code: 1006 })
  clock.advance(599_999)
  t.match(await (await connect(t, simulator.upbitWsUrl)).closed, { code: 1006 })
  clock.advance(1)
  const client = await connect(t, simulator.upbitWsUrl)
  client.send(tickersOf('KRW-BTC'))
  t.match(await client.next(), { stream_type: 'SNAPSHOT' })
})

t.test('refuse: with Retry-After or without, a share of requests, one market, one path', async t => {
  const { simulator } = await startManual(t, { limits: false })
  const candles = (market: string) => get(`${simulator.upbitRestUrl}/v1/candles/minutes/1?market=${market}`)
  const klines = () => get(`${simulator.binanceRestUrl}/api/v3/klines?symbol=BTCUSDT&interval=1m`)
  for (const retryAfter of [undefined, 7, 'Fri, 20 Nov 2026 13:40:00 GMT']) {
    const wait = retryAfter === undefined ? {} : { retryAfter }
    const undo = simulator.faults.set({ kind: 'refuse', exchange: 'binance', status: 418, ...wait })
    const { status, headers, body } = await klines()
    t.equal(status, 418)
    t.match(body, { code: -1003, msg: String })
    t.equal(headers.get('retry-after'), retryAfter === undefined ? null : String(retryAfter))
    const socket = new WebSocket(`${simulator.binanceWsUrl}/ws`)
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
  t.equal((await get(`${simulator.upbitRestUrl}/v1/market/all`)).status, 200)
  alone()
  simulator.faults.set({ kind: 'refuse', exchange: 'upbit', status: 429, on: 'rest', path, share: 0.1 })
  let refused = 0
  for (let i = 0; i < 300; i++) if ((await candles('KRW-BTC')).status === 429) refused += 1
  t.ok(refused > 10 && refused < 60, `${refused} of 300`)
  await t.resolves(connect(t, simulator.upbitWsUrl))
})
