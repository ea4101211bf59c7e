import t from 'tap'
import { bothClients, get, NOON, parsed, startManual } from '../clients.ts'

const MINUTE = 60_000
const OPEN = Math.floor(NOON / MINUTE) * MINUTE

t.test('outage: the exchange does not trade, sends no frame, and leaves a hole in its candles', async t => {
  const { simulator, clock, upbit, binance, fresh } = await bothClients(t)
  const from = clock.now()
  const undo = simulator.faults.set({ kind: 'outage', exchange: 'both' })
  t.equal((await fresh(upbit, 180_000)).length, 0)
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

t.test('outage: may lie in the past, and is taken out of it again', async t => {
  const { simulator } = await startManual(t)
  const [from, to] = [OPEN - 10 * MINUTE, OPEN - 5 * MINUTE]
  const closes = async () => {
    const query = `symbol=BTCUSDT&interval=1m&startTime=${from}&endTime=${to}`
    return (await get(`${simulator.binanceRestUrl}/api/v3/klines?${query}`)).body.length
  }
  t.equal(await closes(), 6)
  const undo = simulator.faults.set({ kind: 'outage', exchange: 'binance', from, to, klines: 'none' })
  t.equal(await closes(), 1, 'the engine was down: no klines at all')
  t.equal(simulator.prices.traded('upbit', 'KRW-BTC', from, to), true, 'the other exchange traded')
  undo()
  t.equal(await closes(), 6)
})

t.test('halt: one market does not trade, and exchangeInfo says BREAK', async t => {
  const { simulator, clock, upbit, binance, fresh } = await bothClients(t)
  const status = async (): Promise<string> => {
    const { body } = await get(`${simulator.binanceRestUrl}/api/v3/exchangeInfo?symbol=BTCUSDT`)
    return body.symbols[0].status
  }
  const from = clock.now()
  const undo = simulator.faults.set({ kind: 'halt', exchange: 'upbit', market: 'KRW-BTC', state: 'DELISTED' })
  const frames = parsed(await fresh(upbit, 0))
  t.match(frames, [{ code: 'KRW-BTC', market_state: 'DELISTED', is_trading_suspended: true }])
  t.notOk(parsed(await fresh(upbit)).some(({ code }) => code === 'KRW-BTC'))
  t.equal(simulator.prices.traded('upbit', 'KRW-BTC', from, clock.now()), false)
  undo()
  t.match(
    parsed(await fresh(upbit)).find(({ code }) => code === 'KRW-BTC'),
    { market_state: 'ACTIVE' },
  )

  t.equal(await status(), 'TRADING')
  simulator.faults.set({ kind: 'halt', exchange: 'binance', market: 'BTCUSDT' })
  await binance.settled()
  t.equal(await status(), 'BREAK')
  t.notOk(parsed(await fresh(binance)).some(({ data }) => data.s === 'BTCUSDT'))
})
