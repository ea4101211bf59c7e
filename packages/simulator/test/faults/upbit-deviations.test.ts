import t from 'tap'
import { connect, get, startManual, tickersOf } from '../clients.ts'

t.test('snapshots once: only the first subscription of a connection brings SNAPSHOTs', async t => {
  const { simulator, run } = await startManual(t)
  simulator.faults.set({ kind: 'snapshots-once', exchange: 'upbit' })
  const client = await connect(t, simulator.upbitWsUrl)
  client.send(tickersOf('KRW-BTC'))
  t.match(await client.next(), { stream_type: 'SNAPSHOT' })
  client.send(tickersOf('KRW-BTC'))
  await client.settled()
  run(10_000)
  t.match(await client.next(), { code: 'KRW-BTC', stream_type: 'REALTIME' }, 'the trades go on')
})

t.test('late candles: a candle is there so long after its minute', async t => {
  const { simulator, clock, run } = await startManual(t)
  simulator.faults.set({ kind: 'late-candles', exchange: 'upbit', lateMs: 40_000 })
  const newest = async () => {
    const { body } = await get(`${simulator.upbitRestUrl}/v1/candles/minutes/1?market=KRW-BTC&count=1`)
    return Date.parse(`${body[0].candle_date_time_utc}Z`)
  }
  const end = Math.ceil((clock.now() + 1) / 60_000) * 60_000
  run(end + 39_000 - clock.now())
  t.equal(await newest(), end - 120_000)
  run(2_000)
  t.equal(await newest(), end - 60_000)
})
