import { createServer as createWebServer } from 'node:http'
import { KimchiError } from '@kimchi/core'
import { freePort } from '@kimchi/local-redis'
import { eventually, listen, startRedis } from '@kimchi/testkit'
import t from 'tap'
import { LIBRARY_VERSION } from '../src/library.ts'
import { openRedis } from '../src/redis/connect.ts'
import { isRetryable } from '../src/redis/redis-error.ts'
import { BTC, connected, openStore, sampleOf } from './fixtures.ts'
import { startCluster } from './redis-failover.ts'

t.test('while Redis is away a command fails at once, may be tried again, and the state says why', async t => {
  const warnings = t.capture(process, 'emitWarning')
  const connection = openRedis(`redis://127.0.0.1:${await freePort()}`)
  t.teardown(() => connection.close())
  await t.rejects(connection.call('PING'), { code: 'KIMCHI_ERR_REDIS' })
  t.ok(isRetryable(await connection.call('PING').catch(error => error)))
  while (!connection.problem()?.includes('ECONNREFUSED')) await new Promise(setImmediate)
  for (let calls = 0; calls < 20; calls++) t.notOk(await connection.untilReady(1))
  t.notOk(await connection.untilReady(10_000, AbortSignal.abort()))
  t.strictSame(warnings(), [], 'no wait leaves a listener behind')
})

t.test('a connection comes back by itself', async t => {
  const redis = await startRedis(t)
  const connection = await connected(t, redis)
  const changes: unknown[] = []
  connection.onChange(problem => changes.push(problem))
  await redis.kill()
  while (!connection.problem()) await new Promise(setImmediate)
  await redis.restart()
  t.ok(await connection.untilReady(60_000))
  t.equal(await connection.call('PING'), 'PONG')
  t.match(changes, [/: connection lost$/, undefined])
  t.equal(changes.length, 2)
})

// docs/faults.md, 36
t.test('passwords appear in no error and no state', async t => {
  const redis = await startRedis(t)
  await redis.client().call('ACL', ['SETUSER', 'default', 'on', 'resetpass', '>right'])
  const connection = openRedis(redis.url.replace('//', '//default:s3cret@'))
  t.teardown(() => connection.close())
  t.notOk(await connection.untilReady(500))
  const error: unknown = await connection.call('PING').catch(thrown => thrown)
  if (!(error instanceof KimchiError)) throw new Error('a KimchiError is expected')
  const texts = [connection.target, connection.problem(), error.stack, JSON.stringify(error), error.cause]
  t.notMatch(texts.join('\n'), /s3cret/)
  await t.rejects(
    eventually('it says why', async () => {
      if (/WRONGPASS/.test(connection.problem() ?? '')) await connection.call('PING')
    }),
    { code: 'KIMCHI_ERR_REDIS_REFUSES', message: /WRONGPASS/ },
  )
  t.throws(() => openRedis('http://u:s3cret@x'), {
    code: 'KIMCHI_ERR_CONFIG',
    message: /^REDIS_URL must be redis:\/\//,
  })
})

t.test('a Cluster that announces no address is named as the reason', async t => {
  const group = await startCluster(t)
  for (const [type, named] of [
    ['unknown-endpoint', /CLUSTER SLOTS names no address of any node/],
    ['hostname', /CLUSTER SLOTS names: \?:\d+/],
  ] as const) {
    for (const node of group.nodes) {
      await node.client().config('SET', 'cluster-preferred-endpoint-type', type)
    }
    const connection = openRedis(group.url)
    t.teardown(() => connection.close())
    await eventually('the reason names what the Cluster answered', () =>
      named.test(connection.problem() ?? ''),
    )
  }
})

t.test('what is wrong with what answers there is named as the reason', async t => {
  const redis = await startRedis(t, { args: ['--maxclients', '1'] })
  await connected(t, redis)
  for (const [url, reason] of [
    [redis.url, /max number of clients/],
    [`redis://127.0.0.1:${await listen(t, createWebServer())}`, /: what answers there is not a Redis$/],
  ] as const) {
    const connection = openRedis(url)
    t.teardown(() => connection.close())
    await eventually('it is named', () => reason.test(connection.problem() ?? ''))
  }
})

t.test('an older library is replaced, a newer one is left alone', async t => {
  const { writer, reader, raw, log, now } = await openStore(t)
  const loaded = (version: number) =>
    raw.call('FUNCTION', [
      'LOAD',
      'REPLACE',
      `#!lua name=kimchi
      local VERSION = ${version}
      redis.register_function('kp_write', function()
        return ${version === 0 ? "redis.error_reply('KIMCHI_LIBRARY version 0 is loaded')" : '{ 42, 0, 0, 0, 1, {}, "a" }'}
      end)`,
    ])
  await loaded(0)
  t.match(await writer.write({ minute: now, samples: [sampleOf('BTC', now)] }), { stored: 1 })
  t.match(log.lines, [
    { message: 'function library loaded', fields: { version: LIBRARY_VERSION, redis: /^redis:/ } },
  ])
  t.equal((await reader.readSamples('BTC', now, now + 1)).entries.length, 1)
  await loaded(99)
  t.match(await writer.write({ minute: now, samples: [] }), { stored: 42 })
  await t.rejects(writer.track([BTC]), { code: 'KIMCHI_ERR_NOT_READY' })
  t.match(await raw.call('FUNCTION', ['LIST', 'WITHCODE']).then(JSON.stringify), /VERSION = 99/)
})
