import t from 'tap'
import { bothClients, get, parsed } from '../clients.ts'

t.test('garbage: each kind replaces a frame by what no decoder can read', async t => {
  const { simulator, upbit, fresh } = await bothClients(t)
  for (const shape of ['truncated', 'utf8', 'noise'] as const) {
    simulator.faults.set({ kind: 'garbage', shape, exchange: 'upbit', frames: 1 })
    const [garbage, ...rest] = await fresh(upbit)
    t.throws(() => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(garbage?.bytes)), shape)
    t.ok(rest.length > 0 && parsed(rest), 'good frames follow')
  }
  simulator.faults.set({ kind: 'garbage', shape: 'nested', exchange: 'upbit', frames: 1 })
  t.match((await fresh(upbit))[0]?.text, /^\[{1000}/)
})

t.test('price: a factor multiplies the price in frames, candles stay', async t => {
  const { simulator, clock, upbit, binance, fresh } = await bothClients(t)
  simulator.faults.set({ kind: 'price', exchange: 'upbit', market: 'KRW-BTC', factor: 10, frames: 1 })
  const [spike, next] = parsed(await fresh(upbit)).filter(({ code }) => code === 'KRW-BTC')
  const real = simulator.prices.lastTrade('upbit', 'KRW-BTC', Number(spike?.trade_timestamp) + 1)?.price ?? 0
  t.equal(spike?.trade_price, real * 10)
  t.ok(Number(next?.trade_price) < real * 2, 'for one frame only')

  const undo = simulator.faults.set({ kind: 'price', exchange: 'binance', market: 'BTCUSDT', factor: 0 })
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

t.test('silence: one market sends nothing, the others go on', async t => {
  const { simulator, upbit, fresh } = await bothClients(t)
  simulator.faults.set({ kind: 'silence', exchange: 'upbit', market: 'KRW-BTC', forMs: 5_000 })
  const codes = new Set(parsed(await fresh(upbit, 4_900)).map(({ code }) => code))
  t.strictSame([...codes], ['KRW-ETH'])
  t.ok(parsed(await fresh(upbit)).some(({ code }) => code === 'KRW-BTC'))
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
