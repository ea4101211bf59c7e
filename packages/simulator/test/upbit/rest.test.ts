import t from 'tap'
import { get, NOON, startManual } from '../clients.ts'

const MINUTE = 60_000

t.test(
  'Upbit candles: newest first, `to` exclusive, at most 200, minutes without a trade missing',
  async t => {
    const { simulator } = await startManual(t)
    const candles = `${simulator.url}/v1/candles/minutes/1`
    const one = await get(`${candles}?market=KRW-BTC`)
    t.match(one.body, { length: 1 })
    t.equal(one.body[0].candle_date_time_utc, '2026-11-20T13:37:00')
    t.equal(one.body[0].candle_date_time_kst, '2026-11-20T22:37:00')
    t.equal(
      one.body[0].trade_price,
      simulator.prices.lastTrade('upbit', 'KRW-BTC', NOON)?.price,
      'the open minute',
    )
    const page = await get(`${candles}?market=KRW-BTC&count=500&to=2026-11-20T13:00:00Z`)
    t.equal(page.body.length, 200)
    t.equal(page.body[0].candle_date_time_utc, '2026-11-20T12:59:00')
    t.equal(page.body[199].candle_date_time_utc, '2026-11-20T09:40:00')
    const korean = await get(`${candles}?market=KRW-BTC&to=2026-11-20T22:00:00%2B09:00`)
    t.equal(korean.body[0].candle_date_time_utc, '2026-11-20T12:59:00')
    const quiet = await get(`${candles}?market=KRW-IQ&count=5`)
    const times = quiet.body.map((row: { candle_date_time_utc: string }) =>
      Date.parse(`${row.candle_date_time_utc}Z`),
    )
    t.equal(times.length, 5)
    t.ok(times[0] - times[4] > 10 * MINUTE)
  },
)

t.test('Upbit names what is wrong with a request', async t => {
  const { simulator } = await startManual(t, { limits: false })
  const url = `${simulator.url}/v1`
  const unknown = await get(`${url}/candles/minutes/1?market=KRW-NOSUCH`)
  t.equal(unknown.status, 404)
  t.strictSame(unknown.body, { error: { name: 404, message: 'Code not found' } })
  for (const query of ['market=KRW-BTC&count=0', 'market=KRW-BTC&to=noon']) {
    const { status, body } = await get(`${url}/candles/minutes/1?${query}`)
    t.equal(status, 400, query)
    t.match(body, { error: { message: /Invalid/ } })
  }
})

t.test('the eleventh request of a group in a second gets 429, another group goes on', async t => {
  const { simulator, clock } = await startManual(t)
  const candles = `${simulator.url}/v1/candles/minutes/1?market=KRW-BTC`
  for (let i = 0; i < 10; i++) t.equal((await get(candles)).status, 200)
  t.equal((await get(candles)).status, 429)
  t.equal((await get(`${simulator.url}/v1/market/all`)).status, 200)
  clock.advance(1_000)
  t.equal((await get(candles)).status, 200)
})
