import { readdirSync, readFileSync } from 'node:fs'
import { dateOf } from '@kimchi/core'
import t from 'tap'
import { SampleReader } from '../src/reader.ts'
import { BTC, connectedAs, listenTo, openStore, sampleOf, writerOn } from './fixtures.ts'

/** What no user of an app may do; each has more in its own test. */
const FORBIDDEN = [
  ['FLUSHALL'],
  ['SHUTDOWN'],
  ['KEYS', '*'],
  ['SCAN', '0'],
  ['RANDOMKEY'],
  ['DBSIZE'],
  ['GET', 'other'],
  ['SORT', '{kp}:tracked'],
  ['EVAL', 'return 1', '0'],
  ['FUNCTION', 'FLUSH'],
  ['CONFIG', 'GET', '*'],
  ['CLIENT', 'LIST'],
  ['ACL', 'LIST'],
] as const

// docs/faults.md, 34
t.test(
  'a user that may only read can read everything and listen to the minutes, and nothing else',
  async t => {
    const { redis, connection, writer, raw, now } = await openStore(t, { coins: [BTC] })
    await raw.set('other', 'secret')
    const reading = await connectedAs(t, redis, 'api')
    const reader = new SampleReader({ redis: reading })
    const heard = await listenTo(reader)
    await writer.write({ minute: now, samples: [sampleOf('BTC', now)] })
    t.equal((await reader.readBoard()).rows[0]?.minute, now)
    t.equal((await reader.readDays('BTC')).entries.length, 1)
    t.equal((await reader.readSamples('BTC', now, now + 1)).entries.length, 1)
    t.strictSame(await reader.readOpenMinutes('BTC', now, now + 1), [])
    for (const [command, ...args] of [
      ...FORBIDDEN,
      ['FCALL', 'kp_write', '1', '{kp}:meta'],
      ['HSET', '{kp}:live', 'BTC', '{}'],
      ['DEL', '{kp}:live'],
      ['PUBLISH', '{kp}:minute', '1'],
    ] as const) {
      await t.rejects(
        reading.call(command, ...args),
        { code: 'KIMCHI_ERR_REDIS_REFUSES', message: /NOPERM.*ACL LOAD/ },
        command,
      )
    }
    while (heard.length === 0) await connection.call('PING')
    t.strictSame(heard, [now])
  },
)

t.test("the ingester's user can do all that a writer does, and cannot empty or stop Redis", async t => {
  const { redis, now, today } = await openStore(t)
  const connection = await connectedAs(t, redis, 'ingester')
  const writer = writerOn(connection)
  await writer.track([BTC])
  const samples = [sampleOf('BTC', now), sampleOf('BTC', today - 1)]
  t.match(await writer.write({ minute: now, samples, halted: ['ETH'] }), { stored: 2 })
  await writer.verify()
  await connection.call('HDEL', '{kp}:daily:BTC', dateOf(now))
  t.strictSame(await writer.mendDays('BTC', 0, 1), [dateOf(now)])
  const settled = [{ symbol: 'BTC', minute: now + 1, reason: 'halted' }] as const
  t.match(await writer.write({ minute: now + 1, samples: [], settled, halted: ['BTC'] }), {
    settled: 1,
  })
  await writer.track([])
  const day = { date: '2020-01-01', open: 1, high: 1, low: 1, close: 1, sum: 1, samples: 1 }
  t.equal(await writer.importDay('BTC', { ...day, firstMinute: 1, lastMinute: 1 }), 'stored')
  await writer.announce('a1', { version: '1' })
  // An ingester of 1.0.0, which may run beside this one, claims, renews and frees its backfill by these.
  const lease = '{kp}:lease:backfill'
  t.equal(await connection.call('SET', lease, 'a1', 'NX', 'GET', 'PX', 60_000), null)
  t.equal(await connection.call('PEXPIRE', lease, 60_000), 1)
  t.equal(await connection.call('GET', lease), 'a1')
  t.equal(await connection.call('DEL', lease), 1)
  // An import by hand needs the rest.
  const reader = new SampleReader({ redis: connection })
  await writer.markImported('BTC', ['2020-01-02'])
  t.strictSame(await reader.readImported('BTC'), ['2020-01-02'])
  t.equal((await reader.readOpenMinutes('BTC', now, now + 3)).length, 1, 'the next minute is settled')
  t.equal(await reader.readRetentionDays(), 8)
  for (const [command, ...args] of FORBIDDEN) {
    await t.rejects(connection.call(command, ...args), { message: /NOPERM/ }, command)
  }
})

t.test(
  'an operator can inspect, repair and tune our Redis, and cannot empty or stop it, or make users',
  async t => {
    const { redis } = await openStore(t, { coins: [BTC] })
    const connection = await connectedAs(t, redis, 'operator')
    t.match(await connection.call('FCALL_RO', 'kp_status', 1, '{kp}:meta'), [/^now /])
    t.equal(await connection.call('HDEL', '{kp}:live', 'BTC'), 0)
    t.match(await connection.call('CONFIG', 'GET', 'maxmemory'), ['maxmemory'])
    t.equal(await connection.call('CONFIG', 'SET', 'maxmemory', '1gb'), 'OK')
    t.strictSame(await connection.call('ACL', 'LOG'), [])
    for (const [command = '', ...args] of [
      ['FLUSHALL'],
      ['FLUSHDB'],
      ['SHUTDOWN'],
      ['ACL', 'LIST'],
      ['ACL', 'SETUSER', 'other', 'on'],
      ['GET', 'other'],
      ['REPLICAOF', 'NO', 'ONE'],
      ['SLAVEOF', 'NO', 'ONE'],
      ['SYNC'],
      ['PSYNC', '?', '-1'],
    ]) {
      await t.rejects(connection.call(command, ...args), { message: /NOPERM/ }, command)
    }
  },
)

// docs/faults.md, 107
t.test("the ingester's user has every command that the library calls, or a later one may call", async t => {
  const { redis, raw } = await openStore(t)
  await connectedAs(t, redis, 'ingester')
  const folder = new URL('../src/lua/', import.meta.url)
  const library = readdirSync(folder)
    .map(file => readFileSync(new URL(file, folder), 'utf8'))
    .join('\n')
  const called = [...library.matchAll(/redis\.p?call\('(\w+)'/g)].map(([, name = '']) => name)
  t.ok(called.length > 20)
  for (const name of new Set([
    ...called,
    'HINCRBY',
    'PERSIST',
    'ZINCRBY',
    'ZRANDMEMBER',
    'SISMEMBER',
    'GETEX',
  ])) {
    const [[, arity] = []] = (await raw.call('COMMAND', 'INFO', name)) as [string, number][]
    // Any text will do for its arguments, while it is a key of ours and the channel.
    const args = Array<string>(Math.abs(arity ?? 1) - 1).fill('{kp}:minute')
    t.equal(await raw.call('ACL', 'DRYRUN', 'ingester', name, ...args), 'OK', name)
  }
})
