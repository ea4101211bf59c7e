import t from 'tap'
import { bothClients, connect, parsed, startManual, tickersOf } from '../clients.ts'

t.test(
  'lag: Upbit trades from before a minute follow frames stamped after it, each exactly once',
  async t => {
    const { simulator, clock, run } = await startManual(t, { limits: false, speed: 10 })
    const client = await connect(t, simulator.env.UPBIT_WS_URL)
    client.send(tickersOf('KRW-BTC'))
    await client.next()
    const from = clock.now()
    const undo = simulator.faults.set({ kind: 'lag', exchange: 'upbit', maxMs: 1_550 })
    run(60_000, 100)
    undo()
    run(60_000, 100)
    await client.settled()
    const frames = parsed(client.frames.slice(1))
    const trades = simulator.prices.trades('upbit', 'KRW-BTC', from - 8, clock.now() - 8)
    const times = frames.map(({ trade_timestamp }) => trade_timestamp)
    t.strictSame(new Set(times).size, times.length, 'none comes twice')
    t.ok(
      trades.filter(({ at }) => at >= from).every(({ at }) => times.includes(at)),
      'none is lost',
    )
    const stamps = frames.map(({ timestamp }) => timestamp)
    t.strictSame(stamps, stamps.toSorted(), '`timestamp` never goes back')
    const latest = Math.max(...frames.map(frame => frame.timestamp - frame.trade_timestamp))
    t.ok(latest > 1_300 && latest <= 1_550, `${latest} ms`)
    const minute = Math.ceil(from / 60_000) * 60_000
    const after = frames.findIndex(({ timestamp }) => timestamp >= minute)
    t.ok(frames.slice(after + 1).some(({ trade_timestamp }) => trade_timestamp < minute))
  },
)

t.test('lag: what a market had traded when it was delisted still comes', async t => {
  const { simulator, clock, run } = await startManual(t, { limits: false, speed: 10 })
  const client = await connect(t, simulator.env.UPBIT_WS_URL)
  client.send(tickersOf('KRW-BTC'))
  await client.next()
  simulator.faults.set({ kind: 'lag', exchange: 'upbit', maxMs: 1_550 })
  run(5_000, 100)
  const delistedAt = clock.now()
  const relist = simulator.delist('KRW-BTC')
  run(60_000, 100)
  await client.settled()
  const newest = Math.max(...parsed(client.frames).map(({ trade_timestamp }) => trade_timestamp))
  t.equal(simulator.prices.lastTrade('upbit', 'KRW-BTC', clock.now())?.at, newest)
  t.ok(parsed(client.frames).some(({ timestamp }) => timestamp > delistedAt))
  relist()
  run(5_000, 100)
  t.ok((simulator.prices.lastTrade('upbit', 'KRW-BTC', clock.now())?.at ?? 0) > delistedAt + 60_000)
})

t.test('the simulator itself says what the last frame before an instant is', async t => {
  const { simulator, clock, upbit, binance, fresh } = await bothClients(t)
  await fresh(upbit, 30_000)
  await binance.settled()
  const before = clock.now() - 10_000
  const lastOf = <F extends { at: number }>(frames: F[]) => frames.filter(({ at }) => at < before).at(-1)
  const tickers = parsed(upbit.frames).filter(({ code }) => code === 'KRW-BTC')
  t.strictSame(
    simulator.lastFrame('upbit', 'KRW-BTC', before),
    lastOf(
      tickers.map(({ trade_timestamp: at, trade_price: price, trade_volume: volume }) => ({
        at,
        price,
        volume,
      })),
    ),
  )
  const minis = parsed(binance.frames).filter(({ data }) => data.s === 'BTCUSDT')
  t.strictSame(
    simulator.lastFrame('binance', 'BTCUSDT', before),
    lastOf(minis.map(({ data }) => ({ at: data.E, price: Number(data.c) }))),
  )
  t.equal(simulator.lastFrame('binance', 'NOSUCH', before), undefined)
})
