import t from 'tap'
import type { WriterOptions } from '../src/writer.ts'
import { BTC, ETH, openStore, sampleOf, writerOn } from './fixtures.ts'

const XRP = { symbol: 'XRP', name: 'XRP', upbit: 'KRW-XRP', binance: 'XRPUSDT' }

/** Two ingesters on one Redis, and what lets time pass for what they have announced. */
async function openTwo(t: Parameters<typeof openStore>[0]) {
  const store = await openStore(t)
  const { connection, log, raw, writer, reader, now } = store
  const writerOf = (options: Partial<WriterOptions> = {}) => writerOn(connection, { log, ...options })
  const other = writerOf()
  const samples = [BTC, ETH, XRP].map(({ symbol }) => sampleOf(symbol, now))
  await writer.write({ minute: now, samples })
  /** Makes everything that was announced this much older; Redis' clock can't be set. */
  const age = async (seconds: number) => {
    for (const key of ['{kp}:tracked', '{kp}:denied']) {
      for (const symbol of await raw.zrange(key, 0, '-1')) await raw.zincrby(key, -seconds, symbol)
    }
    await raw.hincrby('{kp}:meta', 'announced', -seconds)
  }
  const listed = async () => (await reader.readBoard()).coins.filter(({ order }) => order !== undefined)
  const list = async () => (await listed()).map(({ symbol }) => symbol).join(' ')
  return { ...store, one: writer, other, writerOf, age, list }
}

// docs/faults.md, 46
t.test('a coin stays at least 2 and at most 5 minutes after the last ingester that tracked it', async t => {
  const { one, other, age, list, rows, raw, now } = await openTwo(t)
  await one.track([BTC, ETH])
  await other.track([BTC, XRP])
  await one.write({ minute: 0, samples: [] })
  t.equal(await list(), 'BTC ETH XRP')
  // The one that tracks XRP dies a minute after its last announcement; the other announces once a minute.
  await age(60)
  let stayed = 0
  for (; (await list()).includes('XRP'); stayed += 60) {
    await one.announce('one', {})
    if ((await list()).includes('XRP')) await age(60)
  }
  t.ok(stayed >= 120 && stayed <= 300, `stayed ${stayed} s`)
  t.equal(await list(), 'BTC ETH')
  t.notMatch(await rows(), /XRP/)
  t.equal(
    await raw.hget('{kp}:coins', 'XRP'),
    '{"order":null,"name":"XRP","upbit":"KRW-XRP","binance":"XRPUSDT"}',
    'its entry and its history stay',
  )
  await other.write({ minute: now + 1, samples: [sampleOf('XRP', now + 1)] })
  t.equal(await raw.hget('{kp}:live', 'XRP'), null, 'a late sample gives it no row')
})

t.test('a restart unlists nothing, however long it lasts', async t => {
  const { connection, reader, log, one, other, age, list } = await openTwo(t)
  await one.track([BTC, ETH])
  await other.track([BTC, XRP])
  await age(86_400)
  const again = writerOn(connection, { log })
  await again.track([BTC, ETH])
  t.equal(await list(), 'BTC ETH XRP', 'the one that is back first unlists nothing of the other')
  t.strictSame((await reader.readBoard()).corrupt, 0)
  await age(60)
  await other.announce('other', {})
  await age(180)
  await again.announce('one', {})
  await other.announce('other', {})
  t.equal(await list(), 'BTC ETH XRP')
  t.equal((await reader.readBoard()).coins.length, 3)
})

t.test(
  'a denied coin is off the list at once, whatever others track, until its denial has expired',
  async t => {
    const { one, writerOf, age, list, rows } = await openTwo(t)
    await one.track([BTC, ETH, XRP])
    await writerOf({ denied: ['XRP'] }).announce('other', {})
    t.equal(await list(), 'BTC ETH')
    t.notMatch(await rows(), /XRP/)
    await one.track([BTC, ETH, XRP])
    t.equal(await list(), 'BTC ETH')
    for (let minute = 0; minute < 3; minute++) {
      await age(60)
      await one.announce('one', {})
      t.equal(await list(), 'BTC ETH', 'the ingester that denies it may be restarting')
    }
    await age(60)
    await one.announce('one', {})
    t.equal(await list(), 'BTC ETH XRP')
  },
)

t.test('two ingesters of all coins write one order, whichever coins each of them has', async t => {
  const { one, other, list, raw } = await openTwo(t)
  await one.track([BTC, XRP])
  await other.track([BTC, ETH, XRP])
  const written = await raw.hgetall('{kp}:coins')
  t.equal(await list(), 'BTC ETH XRP')
  await one.track([BTC, XRP])
  t.strictSame(await raw.hgetall('{kp}:coins'), written)
})

t.test('ingesters of different orders do not overwrite each other every minute', async t => {
  const { writerOf, age, list } = await openTwo(t)
  const one = writerOf({ order: ['XRP', 'BTC'] })
  const other = writerOf({ order: ['BTC', 'ETH', 'XRP'] })
  await one.track([BTC, XRP])
  await other.track([BTC, XRP])
  for (const writer of [one, other, one]) {
    await age(30)
    await writer.announce('any', {})
    t.equal(await list(), 'BTC XRP', 'the order of the one that changed its coins last')
  }
})

t.test('what was tracked while Redis was away is tracked when it is back', async t => {
  const { redis, connection, writer, list, now } = { ...(await openTwo(t)) }
  await writer.track([BTC, ETH])
  redis.pause()
  await t.rejects(writer.track([BTC, XRP]))
  redis.resume()
  t.ok(await connection.untilReady(60_000))
  await writer.write({ minute: now, samples: [] })
  t.equal(await list(), 'BTC ETH XRP')
})

t.test('at the minute of its halt a live sample brings a coin back, a candle does not', async t => {
  const { writer, raw, rows, now } = await openStore(t, { coins: [BTC, ETH] })
  await writer.write({ minute: now, samples: [sampleOf('BTC', now), sampleOf('ETH', now)] })
  await writer.write({ minute: now + 1, samples: [], halted: ['BTC', 'ETH'] })
  const candle = { ...sampleOf('ETH', now + 1), source: 'candle' as const }
  await writer.write({ minute: now + 1, samples: [sampleOf('BTC', now + 1), candle] })
  t.equal(await rows(), 'BTC')
  t.equal(await raw.hget('{kp}:halted', 'BTC'), String(now + 1), 'the halt is still remembered')
  await writer.write({ minute: now + 2, samples: [{ ...sampleOf('ETH', now + 2), source: 'candle' }] })
  t.equal(await rows(), 'BTC ETH', 'a candle of a later minute does')
})

t.test('a coin without a sample for an hour leaves the live list until it has one', async t => {
  const { writer, raw, rows, today } = await openStore(t, { coins: [BTC, ETH] })
  const start = today - 1440
  const write = (minute: number, symbols: readonly string[]) =>
    writer.write({ minute, samples: symbols.map(symbol => sampleOf(symbol, minute)) })
  await write(start, ['BTC', 'ETH'])
  await write(start + 59, ['BTC'])
  t.equal(await rows(), 'BTC ETH')
  await write(start + 60, ['BTC'])
  t.equal(await rows(), 'BTC')
  await write(start, ['XRP'])
  t.equal(await raw.hget('{kp}:live', 'XRP'), null, 'as old as the row that left')
  await write(start + 1, ['XRP'])
  t.match(await raw.hget('{kp}:live', 'XRP'), 'XRP', 'a minute younger')
  await write(start - 5, ['ETH'])
  t.equal(await rows(), 'BTC', 'backfill of an old minute does not bring it back')
  await write(start + 61, ['ETH'])
  t.equal(await rows(), 'BTC ETH')
})

t.test('rows that are old together stay listed while no newer row is known', async t => {
  const { writer, rows, now } = await openStore(t, { coins: [BTC, ETH] })
  await writer.write({ minute: now - 500, samples: [sampleOf('BTC', now - 500), sampleOf('ETH', now - 510)] })
  t.equal(await rows(), 'BTC ETH')
  await writer.write({ minute: now - 30, samples: [sampleOf('BTC', now - 30)] })
  await writer.write({ minute: now + 600, samples: [sampleOf('XRP', now + 600)] })
  t.equal(await rows(), 'BTC', 'an hour by Redis’ clock, not by a minute from the future')
})

t.test('a status expires soon after its ingester has died, and is replaced as a whole', async t => {
  const { writer, raw } = await openStore(t)
  await writer.announce('a1', { version: '1.0.0', problem: 'none' })
  await writer.track([BTC])
  await writer.announce('a1', { version: '1.0.0', last_minute: 29_000_000 })
  t.strictSame(await raw.hgetall('{kp}:ingester:a1'), { version: '1.0.0', last_minute: '29000000' })
  const ttl = await raw.ttl('{kp}:ingester:a1')
  t.ok(ttl > 170 && ttl <= 180)
})
