import { Agent } from 'node:http'
import { type Clock, DAY_MS, minuteOf } from '@kimchi/core'
import { systemClock } from '@kimchi/runtime'
import { ask as send, startRedis } from '@kimchi/testkit'
import t from 'tap'
import { ask, eventually, getJson, openTestWriter, sampleOf, startTestApi } from './stack.ts'

const now = () => minuteOf(Date.now())

// docs/faults.md, 12 and 74
t.test('old rows are a reason and are counted, corrupt ones are skipped and counted', async t => {
  const redis = await startRedis(t)
  const writer = await openTestWriter(t, redis.url)
  const minute = now() - 5
  await writer.writeMinute(minute - 40)
  await writer.write({ minute, samples: [sampleOf('BTC', minute)] })
  const raw = redis.client()
  await raw.hset('{kp}:live', 'ETH', '{"symbol":"ETH","premium_pct":NaN')
  await raw.hset('{kp}:daily:BTC', '2026-01-01', 'garbage', 'no-date', '{}')
  const api = await startTestApi(t, redis.url, { histories: ['BTC'] })
  const list = await getJson(api.base)
  t.strictSame(
    list.data.map((row: { symbol: string }) => row.symbol),
    ['BTC', 'XRP'],
  )
  t.equal((await ask(`${api.base}/BTC/daily`)).status, 200)
  t.match(await getJson(`${api.ops}/ready`), { reasons: [/the newest snapshot is 3\d\d s old/] })
  const metrics = (await ask(`${api.ops}/metrics`)).body
  t.match(metrics, /kimchi_api_corrupt_entries 3/)
  t.match(metrics, /^kimchi_api_tracked_coins 3$/m)
  t.match(metrics, /^kimchi_api_fresh_coins 1$/m)
  const [, age] = /^kimchi_api_oldest_row_age_seconds ([\d.]+)$/m.exec(metrics) ?? []
  t.ok(Number(age) >= 2_700 && Number(age) < 2_820, `${age} s`)
})

t.test('who is connected while the API closes is told so, and answered', async t => {
  const redis = await startRedis(t)
  let isClosing = false
  // Nobody is cut for being late, however slow this machine is: what may end early never ends by time.
  const wait: Clock['wait'] = (ms, signal) =>
    systemClock.wait(isClosing && signal !== undefined ? DAY_MS : ms, signal)
  const api = await startTestApi(t, redis.url, { nothing: true, clock: { ...systemClock, wait } })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const connection = async () => (await send(api.port, '/', { agent })).headers.connection
  t.equal(await connection(), 'keep-alive')
  isClosing = true
  const closed = api.close()
  t.equal((await ask(`${api.ops}/serving`)).status, 503, 'no more requests for it')
  await eventually('its last response', async () => (await connection()) === 'close')
  await closed
})
