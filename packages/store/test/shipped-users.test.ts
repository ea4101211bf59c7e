import { spawnSync } from 'node:child_process'
import { eventually, startRedis } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { BTC, connected, ETH, sampleOf, startShipped, todayMinutes, writerOn } from './fixtures.ts'

/** A server with the shipped users and an append-only file, as compose starts it. */
async function openShipped(t: Test) {
  const redis = await startRedis(t)
  await redis.stop()
  const as = (user: string) => ({ ...redis, url: redis.url.replace('//', `//${user}:${user}@`) })
  return { redis, start: () => startShipped(t, redis), as }
}

// docs/faults.md, 6
t.test('a killed Redis with the shipped users comes back with every key', async t => {
  const { redis, start, as } = await openShipped(t)
  const server = start()
  const connection = await connected(t, as('ingester'))
  const { now } = await todayMinutes(connection)
  const writer = writerOn(connection)
  await writer.track([BTC, ETH])
  for (const minute of [now - 1_440, now - 1, now]) {
    await writer.write({ minute, samples: [sampleOf('BTC', minute), sampleOf('ETH', minute)] })
  }
  await writer.announce('a', { version: '1.0.0' })

  const operator = redis.client({ username: 'operator', password: 'operator' })
  const contents = async (key: string) => {
    const isHash = (await operator.type(key)) === 'hash'
    // A hash comes back in another order.
    return isHash ? operator.hgetall(key) : operator.dumpBuffer(key)
  }
  const everything = async () => {
    const keys = (await operator.keys('*')).sort()
    const values = keys.map(async key => [key, await operator.pexpiretime(key), await contents(key)])
    return Promise.all([...values, operator.callBuffer('FUNCTION', 'DUMP')])
  }
  const before = await everything()
  t.ok(before.length > 8, 'keys of every kind, and the library')
  await server.end('SIGKILL')
  start()
  t.strictSame(await eventually('it is loaded', () => everything().catch(() => undefined)), before)
})

t.test('nobody enters without a user of the shipped file', async t => {
  const { redis, start } = await openShipped(t)
  start()
  const { cli = '' } = redis.binary
  const ask = (...args: readonly string[]) =>
    spawnSync(cli, ['-p', `${redis.port}`, ...args], { encoding: 'utf8' }).stdout.trim()
  await eventually('it answers', () => /NOAUTH/.test(ask('PING')))
  for (const login of [['any'], ['default', ''], ['default', 'default']]) {
    t.match(ask('AUTH', ...login), /^WRONGPASS/, login.join(' '))
  }
})
