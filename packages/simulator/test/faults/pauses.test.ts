import t from 'tap'
import { bothClients, get, NOON, parsed, startManual, tickersOf } from '../clients.ts'

const MINUTE = 60_000
const OPEN = Math.floor(NOON / MINUTE) * MINUTE

t.test('outage: the exchange does not trade, sends no frame, and has no candles of that time', async t => {
  const { simulator, clock, upbit, binance, fresh } = await bothClients(t)
  const from = clock.now()
  const undo = simulator.faults.set({ kind: 'outage', exchange: 'both' })
  await Promise.all([upbit.settled(), binance.settled()])
  const late = parsed(await fresh(upbit, 180_000))
  t.ok(late.every(({ trade_timestamp }) => trade_timestamp < from))
  t.ok(late.length <= 2, 'only what was on its way')
  t.equal((await fresh(binance, 0)).length, 0)
  const to = clock.now()
  undo()
  t.ok((await fresh(upbit)).length > 0, 'frames again')
  t.strictSame(simulator.prices.trades('upbit', 'KRW-BTC', from, to), [])
  t.ok((simulator.prices.lastTrade('binance', 'BTCUSDT', to)?.at ?? 0) < from)

  const inside = Math.ceil(from / MINUTE) * MINUTE
  const { body: candles } = await get(
    `${simulator.upbitRestUrl}/v1/candles/minutes/1?market=KRW-BTC&count=200`,
  )
  const opens = candles.map(({ candle_date_time_utc }: { candle_date_time_utc: string }) =>
    Date.parse(`${candle_date_time_utc}Z`),
  )
  t.notOk(opens.includes(inside), 'no candle on Upbit')
  const { body: rows } = await get(
    `${simulator.binanceRestUrl}/api/v3/klines?symbol=BTCUSDT&interval=1m&startTime=${inside}&limit=1`,
  )
  t.strictSame([rows[0][0], Number(rows[0][5]), rows[0][8]], [inside, 0, 0], 'a flat row on Binance')
})

t.test('outage: may lie in the past, and is removed from there when it ends', async t => {
  const { simulator } = await startManual(t, { limits: false })
  const [from, to] = [OPEN - 10 * MINUTE, OPEN - 5 * MINUTE]
  const count = async () => {
    const query = `symbol=BTCUSDT&interval=1m&startTime=${from}&endTime=${to}`
    return (await get(`${simulator.binanceRestUrl}/api/v3/klines?${query}`)).body.length
  }
  t.equal(await count(), 6)
  const undo = simulator.faults.set({ kind: 'outage', exchange: 'binance', from, to, klines: 'none' })
  t.equal(await count(), 1, 'the engine was down: no klines at all')
  t.equal(simulator.prices.traded('upbit', 'KRW-BTC', from, to), true, 'the other exchange traded')
  undo()
  t.equal(await count(), 6)
})

t.test(
  'halt on Upbit: no frame announces it, and the SNAPSHOT of the next subscription shows it',
  async t => {
    for (const state of [undefined, 'DELISTED', 'ACTIVE']) {
      const { simulator, clock, upbit, fresh } = await bothClients(t)
      const from = clock.now()
      const market = { exchange: 'upbit', market: 'KRW-BTC' } as const
      simulator.faults.set({ kind: 'halt', ...market })
      if (state !== undefined) simulator.faults.set({ kind: 'state', ...market, state })
      const frames = parsed(await fresh(upbit, 60_000)).filter(({ code }) => code === 'KRW-BTC')
      t.ok(frames.every(({ trade_timestamp }) => trade_timestamp < from))
      t.equal(simulator.prices.traded('upbit', 'KRW-BTC', from, clock.now()), false)
      const snapshot = async () => {
        upbit.send(tickersOf('KRW-BTC', 'KRW-BTC', 'KRW-ETH'))
        const found = await upbit.next(frame => frame.code === 'KRW-BTC' && frame.stream_type === 'SNAPSHOT')
        t.match(await upbit.next(), { code: 'KRW-ETH', stream_type: 'SNAPSHOT' }, 'one SNAPSHOT per code')
        return found
      }
      const expected = { market_state: state ?? 'PREVIEW', is_trading_suspended: true }
      t.match(await snapshot(), { ...expected, timestamp: clock.now() })
      simulator.faults.clear()
      t.match(await snapshot(), { market_state: 'ACTIVE', is_trading_suspended: false })
      t.ok(parsed(await fresh(upbit, 60_000)).some(({ code }) => code === 'KRW-BTC'))
    }
  },
)

t.test('halt on Binance: exchangeInfo shows it, and symbolStatus filters ticker/price by it', async t => {
  const { simulator, binance, fresh } = await bothClients(t)
  const api = `${simulator.binanceRestUrl}/api/v3`
  const symbolsOf = (body: { symbol: string }[]) => body.map(({ symbol }) => symbol)
  simulator.faults.set({ kind: 'halt', exchange: 'binance', market: 'BTCUSDT' })
  await binance.settled()
  t.notOk(parsed(await fresh(binance, 60_000)).some(({ data }) => data.s === 'BTCUSDT'))

  const halted = await get(`${api}/exchangeInfo?symbolStatus=BREAK`)
  t.ok(symbolsOf(halted.body.symbols).includes('BTCUSDT'))
  t.ok(halted.body.symbols.every(({ status }: { status: string }) => status === 'BREAK'))
  const all = symbolsOf((await get(`${api}/ticker/price`)).body)
  t.ok(all.includes('BTCUSDT') && all.includes('PROSUSDT'), 'their last prices stay')
  const trading = symbolsOf((await get(`${api}/ticker/price?symbolStatus=TRADING`)).body)
  t.notOk(trading.includes('BTCUSDT') || trading.includes('PROSUSDT'))
  t.ok(trading.includes('ETHUSDT'))
})
