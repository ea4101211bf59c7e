import { once } from 'node:events'
import { formatTimestamp, minuteOf } from '@kimchi/core'
import { startRedis } from '@kimchi/testkit'
import t from 'tap'
import { breachesOf } from './contract.ts'
import { DAILY, GET, LIVE, openRaw, parseAnswers } from './raw.ts'
import {
  ask,
  eventually,
  getJson,
  openTestWriter,
  readsOf,
  reasonsOf,
  settledReads,
  startReplica,
  startTestApi,
} from './stack.ts'

const now = () => minuteOf(Date.now())

// docs/faults.md, 26
t.test(
  'started before Redis and before any sample it answers 503, and 200 as soon as there is one',
  async t => {
    const redis = await startRedis(t)
    await redis.stop()
    const api = await startTestApi(t, redis.url, { nothing: true })
    const expectNotReady = async () => {
      for (const path of [LIVE, DAILY]) {
        const answer = await ask(`http://127.0.0.1:${api.port}${path}`)
        t.equal(answer.status, 503)
        t.match(answer.headers, { 'retry-after': '5', 'cache-control': 'no-store' })
        t.strictSame(await breachesOf('GET', path, answer), [])
        t.match(answer.body, /"not_ready"/)
        t.notMatch(answer.body, /ECONN|edis/, 'nothing of the inside')
      }
      t.equal((await ask(`${api.base}/__/daily`)).status, 400, 'what is wrong anyway is said at once')
      t.equal((await ask(`${api.ops}/live`)).status, 200)
      t.equal((await ask(`${api.ops}/ready`)).status, 503)
      t.match(await ask(`${api.ops}/serving`), { status: 503, body: '{"serving":false}' })
    }
    await expectNotReady()
    t.match(await reasonsOf(api), /no snapshot.*Redis is away/)
    await redis.restart()
    await eventually('Redis', async () => !/Redis is away/.test(await reasonsOf(api)))
    await expectNotReady()
    const writer = await openTestWriter(t, redis.url)
    await writer.writeMinute(now())
    await eventually('the first minute', async () => (await ask(api.base)).status === 200)
    t.equal((await ask(`${api.ops}/ready`)).status, 200)
    const metrics = (await ask(`${api.ops}/metrics`)).body
    t.match(metrics, /kimchi_api_request_duration_seconds_count\{route="live",status="200"\} [1-9]/)
  },
)

// docs/faults.md, 27
t.test('2,000 clients at the minute turn cost one read of the board and one of the history', async t => {
  const redis = await startRedis(t)
  const writer = await openTestWriter(t, redis.url)
  // Neither is overdue, so that nothing polls Redis as well.
  const first = now() + 1
  const minute = first + 1
  await writer.writeMinute(first)
  const api = await startReplica(t, redis.url, { histories: ['BTC'] })
  // Each has been answered once, a few at a time: one that waits for 5 s is closed, however slow this machine is.
  const open = async () => {
    const client = await openRaw(api.port, GET)
    t.teardown(() => client.socket.destroy())
    await once(client.socket, 'data')
    return client
  }
  const clients: Awaited<ReturnType<typeof open>>[] = []
  while (clients.length < 2_000) clients.push(...(await Promise.all(Array.from({ length: 50 }, open))))
  const readsBefore = await settledReads(redis)
  const writtenAt = Date.now()
  const written = writer.writeMinute(minute)
  const paths = [LIVE, DAILY, `${LIVE}/BTC/daily?days=3`]
  const request = paths.map(path => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join('')
  for (const { socket } of clients)
    socket.write(request.replace(/\r\n\r\n$/, '\r\nConnection: close\r\n\r\n'))
  await written
  await Promise.all(clients.map(({ closed }) => closed))
  const answered = clients.map(client => parseAnswers(client.bytes()).map(({ status }) => status))
  t.strictSame([...new Set(answered.map(String))], ['200,200,200,200'])
  await eventually(
    'the new minute',
    async () => (await getJson(api.base)).updated_at === formatTimestamp(minute),
  )
  const reads = (await readsOf(redis)) - readsBefore
  // An API that gets no time to take a reply within 600 ms reads again, every 2 s at most.
  const isStarved = api.lines.some(line => /Command timed out|connection lost/.test(line))
  const repeats = isStarved ? Math.ceil((Date.now() - writtenAt) / 2_000) : 0
  t.ok(reads <= 3 + repeats, `${reads} reads: the board for the minute, at most once more, and the history`)
})

// docs/faults.md, 7
t.test('Redis frozen, killed and back: answers go on, readiness says why', async t => {
  const redis = await startRedis(t, { appendonly: true })
  const writer = await openTestWriter(t, redis.url)
  await writer.writeMinute(now() - 1)
  const api = await startTestApi(t, redis.url, { histories: ['BTC'] })
  const list = await getJson(api.base)
  const history = await getJson(`${api.base}/BTC/daily`)
  const expectServed = async (what: string) => {
    t.strictSame(await getJson(api.base), list, what)
    t.strictSame(await getJson(`${api.base}/BTC/daily`), history, what)
  }
  redis.pause()
  await expectServed('frozen')
  const first = await ask(`${api.base}/ETH/daily`)
  t.equal(first.status, 503, 'a history not at hand is waited for only so long')
  redis.resume()
  await redis.kill()
  await eventually('the reason', async () => /Redis is away/.test(await reasonsOf(api)))
  await expectServed('dead')
  t.equal((await ask(`${api.ops}/serving`)).status, 200, 'it stays in service')
  await redis.restart()
  await eventually('the next minute', async () => {
    await writer.writeMinute(now()).catch(() => 'not connected again yet')
    return (await getJson(api.base)).updated_at !== list.updated_at
  })
  t.equal((await ask(`${api.ops}/ready`)).status, 200)
})

t.test('flushed, or without functions, the last good documents stay until it is filled again', async t => {
  const redis = await startRedis(t)
  const writer = await openTestWriter(t, redis.url)
  await writer.writeMinute(now() - 1)
  await writer.writeMinute(now() - 3 * 1_440)
  const api = await startTestApi(t, redis.url, { histories: ['BTC'] })
  const list = await getJson(api.base)
  const raw = redis.client()
  await raw.flushall()
  await raw.publish('{kp}:minute', String(now()))
  await eventually('the reason', async () => /empty/.test(await reasonsOf(api)))
  t.strictSame(await getJson(api.base), list)
  await raw.call('FUNCTION', 'FLUSH')
  await raw.publish('{kp}:minute', String(now()))
  await eventually('the reason', async () => /library absent/.test(await reasonsOf(api)))
  t.strictSame(await getJson(api.base), list)
  await eventually('the refill', async () => {
    await writer.writeMinute(now())
    return (await getJson(api.base)).updated_at !== list.updated_at
  })
  await eventually('a history read again', async () => (await getJson(`${api.base}/BTC/daily`)).count === 1)
})

// docs/faults.md, 9
t.test('a wrong password and a missing right are named as a refusal, and are over once mended', async t => {
  const redis = await startRedis(t)
  const writer = await openTestWriter(t, redis.url)
  await writer.writeMinute(now())
  const raw = redis.client()
  await raw.call('ACL', 'SETUSER', 'api', 'on', '>right', '~*', '&*', '+@all')
  const api = await startTestApi(t, redis.url.replace('//', '//api:wrong@'), { nothing: true })
  const isRefused = async (said: RegExp) => {
    const { body } = await ask(`${api.ops}/metrics`)
    return said.test(await reasonsOf(api)) && /^kimchi_ready\{reason="redis-refuses"\} 0$/m.test(body)
  }
  const expectRefused = (said: RegExp) => eventually('the reason', () => isRefused(said))
  await expectRefused(/Redis refuses: .*WRONGPASS/)
  await raw.call('ACL', 'SETUSER', 'api', '>wrong')
  const isReady = async () => (await ask(`${api.ops}/ready`)).status === 200
  await eventually('the right password', isReady)
  await raw.call('ACL', 'SETUSER', 'api', '-fcall_ro')
  // A minute that is there already is announced to nobody.
  await raw.publish('{kp}:minute', String(now()))
  await expectRefused(/NOPERM.*ACL LOAD/)
  await raw.call('ACL', 'SETUSER', 'api', '+fcall_ro')
  await eventually('the right', isReady)
})
