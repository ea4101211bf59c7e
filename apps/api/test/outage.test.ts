import { minuteOf } from '@kimchi/core'
import { startRedis } from '@kimchi/testkit'
import t from 'tap'
import {
  ask,
  eventually,
  openTestWriter,
  type Replica,
  readsOf,
  settledReads,
  startReplica,
  startTestApi,
} from './stack.ts'

const SYMBOLS = Array.from({ length: 20 }, (_, n) => `C${n}`)
const now = () => minuteOf(Date.now())

// docs/faults.md, 7
t.test('with Redis away all replicas stay in service with their last documents', async t => {
  const redis = await startRedis(t)
  const writer = await openTestWriter(t, redis.url)
  await writer.writeMinute(now())
  const replicas = await Promise.all([startReplica(t, redis.url), startReplica(t, redis.url)])
  const state = async ({ ops }: Replica, path: string) => (await ask(`${ops}${path}`)).status
  const before = await Promise.all(replicas.map(({ base }) => ask(base)))
  await redis.kill()
  for (const [index, replica] of replicas.entries()) {
    await eventually('the alert', async () => (await state(replica, '/ready')) === 503)
    t.equal(await state(replica, '/serving'), 200)
    t.strictSame((await ask(replica.base)).body, before[index]?.body)
  }
  const [leaving] = replicas
  const ended = leaving.end('SIGTERM')
  const isOut = async () => (await state(leaving, '/serving').catch(() => 503)) === 503
  await eventually('no more requests for it', isOut)
  t.equal(await ended, 0)
})

t.test('a replica without a document is not in service', async t => {
  const redis = await startRedis(t)
  const { ops } = await startTestApi(t, redis.url, { nothing: true })
  const { status, body } = await ask(`${ops}/serving`)
  t.equal(status, 503)
  t.strictSame(JSON.parse(body), { serving: false })
})

// docs/faults.md, 50
t.test('with Redis away, requests for histories that are not held cost a few log lines', async t => {
  const redis = await startRedis(t)
  const writer = await openTestWriter(t, redis.url, SYMBOLS)
  await writer.writeMinute(now())
  const replica = await startReplica(t, redis.url)
  await redis.kill()
  for (let round = 0; round < 20; round++) {
    const answers = await Promise.all(SYMBOLS.map(symbol => ask(`${replica.base}/${symbol}/daily`)))
    t.ok(answers.every(({ status }) => status === 503))
  }
  t.ok(replica.lines.length < 10, `${replica.lines.length} lines after 400 requests`)
  const logged = (text: string) => replica.lines.filter(line => line.includes(text)).length
  t.equal(logged('Redis is away'), 1)
  t.equal(logged('Redis answers'), 1, 'only at the start')
  await redis.restart()
  await eventually('it says so', async () => logged('Redis answers') === 2)
})

// docs/faults.md, 50
t.test('one history that cannot be read costs a command with each board and a few lines', async t => {
  const redis = await startRedis(t)
  const writer = await openTestWriter(t, redis.url)
  // Not overdue soon, so that nothing polls Redis.
  await writer.writeMinute(now() + 1)
  await redis.client().set('{kp}:daily:BTC', 'not a hash')
  const replica = await startReplica(t, redis.url)
  const before = replica.lines.length
  const start = await settledReads(redis)
  for (let n = 0; n < 300; n++) t.equal((await ask(`${replica.base}/BTC/daily`)).status, 503)
  t.equal((await ask(`${replica.base}/ETH/daily`)).status, 200, 'others are served')
  t.equal((await readsOf(redis)) - start, 2, 'one for each of both')
  t.ok(replica.lines.length - before <= 2)
})
