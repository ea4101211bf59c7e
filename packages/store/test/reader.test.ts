import { once } from 'node:events'
import { dateOf, foldDays } from '@kimchi/core'
import t from 'tap'
import { dailyKey, samplesKey } from '../src/keys.ts'
import { LIBRARY_VERSION } from '../src/library.ts'
import type { ConnectionStatus } from '../src/redis/connect.ts'
import { BTC, ETH, openStore, sampleOf, todayMinutes } from './fixtures.ts'

t.test('what cannot be read is skipped and counted, the rest is served', async t => {
  const { connection, writer, reader, raw } = await openStore(t)
  const { today } = await todayMinutes(connection)
  await writer.track([BTC, ETH])
  const samples = [sampleOf('BTC', today), sampleOf('BTC', today + 1)]
  await writer.write({ minute: today, samples: [...samples, sampleOf('ETH', today, 5)] })
  await raw.zadd(samplesKey('BTC', dateOf(today), 0), today + 2, Buffer.from([0xc1, 0xff]))
  // A member under the score of another minute would be served as that minute.
  const [member = ''] = await raw.zrangeBuffer(samplesKey('BTC', dateOf(today), 0), 0, '0')
  await raw.zadd(samplesKey('ETH', dateOf(today), 0), today + 7, member)
  await raw.hset(dailyKey('BTC'), '2026-13-01', '{}', '2020-01-01', '{"open":1}', 'x', 'null')
  const row = (await raw.hget('{kp}:live', 'ETH')) ?? ''
  await raw.hset('{kp}:live', 'ETH', row.replace(/"premium_pct":[^,]*/, '"premium_pct":1.23456'))
  await raw.hset('{kp}:coins', 'XRP', 'garbage', 'DOGE', '{"order":-1,"name":"","upbit":"","binance":""}')
  await raw.hset('{kp}:revisions', 'ETH', 'many')

  t.strictSame(await reader.readSamples('BTC', today, today + 5), { entries: samples, corrupt: 1 })
  t.match(await reader.readSamples('ETH', today, today + 9), { entries: { length: 1 }, corrupt: 1 })
  t.strictSame(await reader.readDays('BTC'), { entries: foldDays(samples), corrupt: 3 })
  const board = await reader.readBoard()
  t.strictSame(
    board.rows.map(row => row.symbol),
    ['BTC'],
  )
  t.equal(board.corrupt, 4)
  t.strictSame([...board.todayRows.keys()].sort(), ['BTC', 'ETH'])
})

t.test('an empty Redis has an empty board once the library is there', async t => {
  const { reader, writer, raw } = await openStore(t)
  await writer.track([])
  await raw.flushall()
  const board = await reader.readBoard()
  t.match(board, { prices: undefined, coins: [], rows: [], corrupt: 0 })
  t.strictSame(await reader.readDays('BTC'), { entries: [], corrupt: 0 })
})

t.test('missing minutes come as ranges, across hours and days', async t => {
  const { connection, writer, reader } = await openStore(t)
  const { today } = await todayMinutes(connection)
  await writer.track([])
  const whole = Array.from({ length: 60 }, (_, at) => today - 60 + at)
  const minutes = [...whole, today + 1, today + 2, today + 125].map(minute => sampleOf('BTC', minute))
  await writer.write({ minute: today, samples: minutes })
  t.strictSame(await reader.readMissing('BTC', today - 65, today + 130), [
    { start: today - 65, end: today - 60 },
    { start: today, end: today + 1 },
    { start: today + 3, end: today + 125 },
    { start: today + 126, end: today + 130 },
  ])
  t.strictSame(await reader.readMissing('BTC', today - 30, today), [])
  t.strictSame(await reader.readMissing('BTC', today, today), [])
  t.strictSame(await reader.readMissing('NONE', today - 2, today), [{ start: today - 2, end: today }])
})

t.test('the subscription says when it is deaf, and hears again after Redis came back', async t => {
  const { redis, connection, writer, reader } = await openStore(t, { appendonly: true })
  const { now } = await todayMinutes(connection)
  await writer.track([BTC])
  const events = new EventTarget()
  const states: ConnectionStatus[] = []
  const heard: number[] = []
  const subscription = reader.subscribeMinutes(
    minute => {
      heard.push(minute)
      events.dispatchEvent(new Event('minute'))
    },
    state => {
      states.push(state)
      events.dispatchEvent(new Event(state.ready ? 'ready' : 'lost'))
    },
  )
  t.teardown(() => subscription.close())
  await once(events, 'ready')
  const lost = once(events, 'lost')
  await redis.stop()
  await lost
  t.match(states.at(-1), { ready: false, reason: /connection lost/ })
  const ready = once(events, 'ready')
  await redis.restart()
  await ready
  t.ok(await connection.untilReady(10_000))
  const minute = once(events, 'minute')
  await writer.write({ minute: now, samples: [sampleOf('BTC', now)] })
  await minute
  t.strictSame(heard, [now])
})

t.test('people at redis-cli get readable answers', async t => {
  const { connection, writer, raw } = await openStore(t)
  const { today } = await todayMinutes(connection)
  await writer.track([BTC])
  await writer.track([ETH])
  await writer.announce('a1', { version: '1.0.0' })
  const samples = [sampleOf('BTC', today - 1, 150_000_123), sampleOf('ETH', today, 140_000_000.5)]
  await writer.write({ minute: today, samples })
  const ask = (name: string, ...args: (string | number)[]) =>
    raw.call('FCALL_RO', [name, '1', '{kp}:meta', ...args]) as Promise<string[]>
  const [yesterday, date] = [dateOf(today - 1), dateOf(today)]

  t.strictSame(await ask('kp_samples', 'BTC', today - 1), [
    `${yesterday}T23:59:00 1.2442% upbit_krw=150000123 binance_usdt=101234.56 usdt_krw=1463.5 live`,
  ])
  t.strictSame(await ask('kp_days', 'ETH'), [
    date,
    `{"open":-55055,"high":-55055,"low":-55055,"close":-55055,"sum":-55055,"samples":1,"first":${today},"last":${today}}`,
  ])
  t.strictSame(await ask('kp_check', 'BTC'), [`${yesterday} ok 1 samples`])
  t.strictSame((await ask('kp_status', 'a1', 'b2')).toSpliced(2, 1), [
    `library version ${LIBRARY_VERSION}`,
    'prices live, layout 1',
    `BTC tracked, snapshot ${yesterday}T23:59:00, samples today 0, revision 1`,
    `ETH tracked, snapshot ${date}T00:00:00, samples today 1, revision 0`,
    'ingester a1 version 1.0.0',
    'ingester b2 not seen',
  ])
  await raw.hset(dailyKey('BTC'), yesterday, '{}')
  t.match(
    (await ask('kp_check', 'BTC'))[0],
    /WRONG row {}, samples fold to {"open":12442.*corrupt members 0$/,
  )
})

t.test('another layout is refused instead of misread', async t => {
  const { reader, writer, raw } = await openStore(t)
  await writer.track([])
  await raw.hset('{kp}:meta', 'layout', 9)
  await t.rejects(reader.readBoard(), { code: 'KIMCHI_ERR_LAYOUT', message: /holds layout 9/ })
})
