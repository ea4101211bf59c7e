import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import type { Fault, GarbageShape } from '../src/index.ts'
import { type Client, connect, get, startManual, tickersOf } from './clients.ts'

/** One client of each exchange that has received its first frames. */
async function bothClients(t: Test) {
  const manual = await startManual(t, { limits: false })
  const { simulator, run } = manual
  const upbit = await connect(t, simulator.upbitWsUrl)
  upbit.send(tickersOf('KRW-BTC', 'KRW-ETH'))
  await upbit.next()
  await upbit.next()
  const binance = await connect(
    t,
    `${simulator.binanceWsUrl}/stream?streams=btcusdt@miniTicker/ethusdt@miniTicker`,
  )
  run(5_000)
  await Promise.all([upbit.settled(), binance.settled()])
  const fresh = async (client: Client, ms = 5_000): Promise<Client['frames']> => {
    const before = client.frames.length
    run(ms, 100)
    await client.settled()
    return client.frames.slice(before)
  }
  return { ...manual, upbit, binance, fresh }
}

const parsed = (frames: Client['frames']) => frames.map(frame => JSON.parse(frame.text))

t.test('stall: pings are answered, no frame comes, and it ends after its time', async t => {
  const { simulator, upbit, binance, fresh } = await bothClients(t)
  simulator.faults.set({ kind: 'stall', exchange: 'both', forMs: 5_000 })
  t.equal((await fresh(upbit, 4_900)).length, 0)
  const before = binance.frames.length
  await binance.settled()
  t.equal(binance.frames.length, before)
  t.ok((await fresh(upbit)).length > 0, 'frames again')
  t.strictSame(simulator.faults.list(), [])
})

t.test('half-open: existing sockets hear nothing, not even a pong, new ones work', async t => {
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

t.test('garbage: each kind replaces a frame by what no decoder can read', async t => {
  const { simulator, upbit, fresh } = await bothClients(t)
  for (const shape of ['truncated', 'utf8', 'noise'] satisfies GarbageShape[]) {
    simulator.faults.set({ kind: 'garbage', shape, exchange: 'upbit', frames: 1 })
    const [garbage, ...rest] = await fresh(upbit)
    t.throws(() => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(garbage?.bytes)), shape)
    t.ok(rest.length > 0 && parsed(rest), 'good frames follow')
  }
  simulator.faults.set({ kind: 'garbage', shape: 'huge', exchange: 'upbit', frames: 1 })
  t.ok(((await fresh(upbit))[0]?.bytes.length ?? 0) > 8_000_000)
  simulator.faults.set({ kind: 'garbage', shape: 'nested', exchange: 'upbit', frames: 1 })
  t.match((await fresh(upbit))[0]?.text, /^\[{1000}/)
})

t.test(
  'garbage: a masked frame breaks the protocol, a bomb is small on the wire and large behind it',
  async t => {
    const { simulator, upbit, binance, run } = await bothClients(t)
    const failed = new Promise(resolve => upbit.socket.once('error', resolve))
    simulator.faults.set({ kind: 'garbage', shape: 'masked', exchange: 'upbit', frames: 1 })
    run(5_000)
    t.match(await failed, { message: /MASK must be clear/ })
    simulator.faults.set({ kind: 'garbage', shape: 'bomb', exchange: 'binance', frames: 1 })
    const before = binance.bytesRead()
    const count = binance.frames.length
    run(2_000)
    await binance.settled()
    t.ok((binance.frames[count]?.bytes.length ?? 0) > 64 * 1_048_576)
    t.ok(binance.bytesRead() - before < 200_000, 'packed')
  },
)

t.test('price: any value or factor takes the place of the price, candles stay', async t => {
  const { simulator, clock, upbit, binance, fresh } = await bothClients(t)
  const wrong = async (effect: object): Promise<unknown[]> => {
    const fault = { kind: 'price', market: 'KRW-BTC', exchange: 'upbit', frames: 1, ...effect } as Fault
    simulator.faults.set(fault)
    return parsed(await fresh(upbit)).filter(({ code }) => code === 'KRW-BTC')
  }
  for (const value of [0, -5, 'NaN', '', null, 1e308])
    t.match((await wrong({ value }))[0], { trade_price: value })
  t.notOk('trade_price' in ((await wrong({ value: 'missing' }))[0] as object))
  const [spike, next] = (await wrong({ factor: 10 })) as { trade_price: number; trade_timestamp: number }[]
  const real = simulator.prices.lastTrade('upbit', 'KRW-BTC', Number(spike?.trade_timestamp) + 1)?.price ?? 0
  t.equal(spike?.trade_price, real * 10)
  t.ok(Number(next?.trade_price) < real * 2, 'for one frame only')

  const undo = simulator.faults.set({ kind: 'price', exchange: 'binance', market: 'BTCUSDT', value: 0 })
  const frames = parsed(await fresh(binance))
  const prices = (name: string) => frames.filter(({ data }) => data.s === name).map(({ data }) => data.c)
  t.strictSame(new Set(prices('BTCUSDT')), new Set(['0.00000000']))
  t.ok(prices('ETHUSDT').every(price => Number(price) > 0))
  const open = Math.floor(clock.now() / 60_000) * 60_000 - 60_000
  const { body } = await get(
    `${simulator.binanceRestUrl}/api/v3/klines?symbol=BTCUSDT&interval=1m&startTime=${open}&limit=1`,
  )
  t.equal(Number(body[0][4]), simulator.prices.candle('binance', 'BTCUSDT', open)?.close)
  undo()
  t.ok(parsed(await fresh(binance)).every(({ data }) => Number(data.c) > 0))
})

t.test('drop: sockets are closed with the code, or cut without one', async t => {
  const { simulator, upbit, binance } = await bothClients(t)
  simulator.faults.set({ kind: 'drop', exchange: 'upbit', code: 1012 })
  t.match(await upbit.closed, { code: 1012 })
  t.equal(binance.socket.readyState, WebSocket.OPEN)
  simulator.faults.set({ kind: 'drop', exchange: 'binance' })
  t.match(await binance.closed, { code: 1006 })
  t.strictSame(simulator.faults.list(), [])
})

t.test('refuse: handshakes and REST get the status, or no answer at all', async t => {
  const { simulator } = await startManual(t, { limits: false })
  for (const status of [429, 418, 451, 403, 503, 302]) {
    const undo = simulator.faults.set({ kind: 'refuse', exchange: 'upbit', status })
    await t.rejects(connect(t, simulator.upbitWsUrl), new RegExp(String(status)))
    const answer = await fetch(`${simulator.upbitRestUrl}/v1/market/all`, { redirect: 'manual' })
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

t.test('delay: frames come late and stay in order', async t => {
  const { simulator, clock, upbit, fresh } = await bothClients(t)
  const from = clock.now()
  simulator.faults.set({ kind: 'delay', exchange: 'upbit', ms: 3_000, forMs: 4_000 })
  t.equal((await fresh(upbit, 2_900)).length, 0)
  const frames = parsed(await fresh(upbit, 10_000))
  const trades = ['KRW-BTC', 'KRW-ETH'].flatMap(code =>
    simulator.prices.trades('upbit', code, from, clock.now()),
  )
  t.equal(frames.length, trades.length)
  const times = frames.map(frame => frame.trade_timestamp)
  t.strictSame(times, [...times].sort())
})

t.test('reorder and duplicate: two frames change places, one comes twice', async t => {
  const { simulator, upbit, fresh } = await bothClients(t)
  simulator.faults.set({ kind: 'reorder', exchange: 'upbit', frames: 1 })
  const [first, second, third] = parsed(await fresh(upbit)).map(frame => frame.trade_timestamp)
  t.ok(second < first && third > first, 'older after newer')
  simulator.faults.set({ kind: 'duplicate', exchange: 'upbit', frames: 1 })
  const frames = await fresh(upbit)
  t.equal(frames[0]?.text, frames[1]?.text)
  t.not(frames[1]?.text, frames[2]?.text)
})

t.test('silence: one market says nothing, the others go on', async t => {
  const { simulator, upbit, fresh } = await bothClients(t)
  simulator.faults.set({ kind: 'silence', exchange: 'upbit', market: 'KRW-BTC', forMs: 5_000 })
  const codes = new Set(parsed(await fresh(upbit, 4_900)).map(({ code }) => code))
  t.strictSame([...codes], ['KRW-ETH'])
  t.ok(parsed(await fresh(upbit)).some(({ code }) => code === 'KRW-BTC'))
})

t.test('halt: the state is announced, nothing trades, exchangeInfo says BREAK', async t => {
  const { simulator, upbit, binance, fresh } = await bothClients(t)
  const status = async (): Promise<string> => {
    const { body } = await get(`${simulator.binanceRestUrl}/api/v3/exchangeInfo?symbol=BTCUSDT`)
    return body.symbols[0].status
  }
  const undo = simulator.faults.set({ kind: 'halt', exchange: 'upbit', market: 'KRW-BTC', state: 'DELISTED' })
  const frames = parsed(await fresh(upbit, 0))
  t.match(frames, [{ code: 'KRW-BTC', market_state: 'DELISTED', is_trading_suspended: true }])
  t.notOk(parsed(await fresh(upbit)).some(({ code }) => code === 'KRW-BTC'))
  undo()
  t.match(
    parsed(await fresh(upbit)).find(({ code }) => code === 'KRW-BTC'),
    { market_state: 'ACTIVE' },
  )

  t.equal(await status(), 'TRADING')
  simulator.faults.set({ kind: 'halt', exchange: 'binance', market: 'BTCUSDT' })
  t.equal(await status(), 'BREAK')
  t.notOk(parsed(await fresh(binance)).some(({ data }) => data.s === 'BTCUSDT'))
})

t.test('shutdown: announced in the shape of the connection, and closed when asked', async t => {
  const { simulator, run, binance } = await bothClients(t)
  const raw = await connect(t, `${simulator.binanceWsUrl}/ws`)
  simulator.faults.set({ kind: 'shutdown', exchange: 'binance', closeAfterMs: 2_000 })
  t.match(await raw.next(), { e: 'serverShutdown', E: Number })
  t.match(await binance.next(frame => frame.stream === '!serverShutdown'), { data: { e: 'serverShutdown' } })
  run(1_999)
  await binance.settled()
  run(1)
  await Promise.all([raw.closed, binance.closed])
  await t.resolves(connect(t, `${simulator.binanceWsUrl}/ws`))
})

t.test('rest: answers are slow, empty, half as long or cut, candles are never shortened', async t => {
  const { simulator, clock } = await startManual(t, { limits: false })
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
    10,
  )
  half()
  simulator.faults.set({ kind: 'rest', exchange: 'upbit', mode: 'truncated', path: '/v1/market', frames: 1 })
  await t.rejects(get(markets), SyntaxError)
  simulator.faults.set({ kind: 'rest', exchange: 'upbit', mode: 'slow', ms: 700, frames: 1 })
  let arrived = false
  const slow = get(markets).then(() => {
    arrived = true
  })
  await get(symbols)
  t.equal(arrived, false)
  while (simulator.faults.list().length > 0) await get(symbols)
  clock.advance(700)
  await slow
})

t.test('everything sent is recorded as it was sent', async t => {
  const { simulator, upbit, fresh } = await bothClients(t)
  simulator.faults.set({ kind: 'price', exchange: 'upbit', market: 'KRW-BTC', factor: 2, forMs: 3_000 })
  await fresh(upbit)
  const recorded = simulator.frames.filter(frame => frame.exchange === 'upbit')
  t.strictSame(
    recorded.map(frame => frame.text),
    upbit.frames.map(frame => frame.text),
  )
  t.match(recorded.at(-1), { connection: 1, market: /^KRW-/, sentAt: Number })
})
