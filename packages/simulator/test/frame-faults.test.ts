import t from 'tap'
import type { Fault, GarbageShape } from '../src/index.ts'
import { bothClients, get, parsed } from './clients.ts'

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
