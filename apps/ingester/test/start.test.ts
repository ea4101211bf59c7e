import { once } from 'node:events'
import { createServer } from 'node:net'
import { type Clock, type Log, MINUTE_MS, type Milliseconds } from '@kimchi/core'
import { systemClock } from '@kimchi/runtime'
import { type Simulator, type SimulatorOptions, startSimulator } from '@kimchi/simulator'
import { ask, createMemoryLog, eventually, listen, startRedis } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { readConfig } from '../src/config.ts'
import { startIngester } from '../src/start.ts'
import { silent } from './support/backfill-bench.ts'
import { inFewFrames } from './support/market.ts'

const COINS = ['BTC', 'ETH', 'XRP']

/** The rights of the ingester's user in 1.0.0. */
const RIGHTS_OF_1_0_0 =
  'on >ingester resetkeys ~{kp}:* resetchannels &{kp}:minute -@all +fcall +fcall_ro +function|list +function|load +publish +subscribe +time +ping +info +client|setname +select +role +cluster|slots +cluster|shards +cluster|info +hget +hmget +hgetall +hkeys +hlen +hset +hdel +zrange +zrangebyscore +zcard +zcount +zadd +zscore +zrem +zremrangebyscore +sadd +smembers +exists +type +expire +pexpire +expireat +set +get +del'

/** The system's clock, put forward to ten seconds before a minute. */
function clockBeforeMinute(): Clock {
  const ahead: Milliseconds = MINUTE_MS - 10_000 - (Date.now() % MINUTE_MS)
  return { ...systemClock, now: () => Date.now() + ahead }
}

/** An ingester in this process. */
async function start(
  t: Test,
  redisUrl: string,
  exchanges: string,
  { clock = systemClock, log = silent }: { clock?: Clock; log?: Log } = {},
) {
  const ws = exchanges.replace('http', 'ws')
  const config = readConfig({
    REDIS_URL: redisUrl,
    COINS: COINS.join(),
    PRICES: 'simulated',
    UPBIT_WS_URL: `${ws}/websocket/v1`,
    UPBIT_REST_URL: exchanges,
    BINANCE_WS_URL: ws,
    BINANCE_REST_URL: exchanges,
    OPS_PORT: '0',
  })
  const ingester = await startIngester(config, {
    log,
    clock,
    random: Math.random,
    id: 'test:1',
    version: '1.2.3',
  })
  const failed = ingester.failed.catch((thrown: unknown) => thrown)
  t.teardown(() => ingester.close())
  const ops = (path: string) => ask(ingester.opsPort, path)
  const ready = async () => {
    const { status, body } = await ops('/ready')
    const { reasons } = JSON.parse(String(body)) as { reasons: string[] }
    return { status, reasons }
  }
  return { ingester, failed, ops, ready }
}

async function exchanges(t: Test, options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator({
    coins: inFewFrames([...COINS, 'USDT']),
    limits: false,
    ...options,
  })
  t.teardown(() => simulator.close())
  return simulator
}

// docs/faults.md, 107
t.test(
  'a right that is missing leaves nothing half-written and is named at once; those of 1.0.0 suffice',
  async t => {
    const redis = await startRedis(t)
    const raw = redis.client()
    await raw.call('ACL', 'SETUSER', 'ingester', ...RIGHTS_OF_1_0_0.split(' '), '-expireat')
    const clock = clockBeforeMinute()
    const simulator = await exchanges(t, { clock })
    const log = createMemoryLog()
    const url = redis.url.replace('//', '//ingester:ingester@')
    const { ops, ready } = await start(t, url, simulator.url, { clock, log })
    const help = /this user lacks \+expireat on \{kp\}:\*.*deploy\/redis\/users\.acl.*redis-cli ACL LOAD/
    await eventually('two attempts have failed', async () =>
      /writes_total\{outcome="retries"\} (?!0$|1$)/m.test(String((await ops('/metrics')).body)),
    )
    t.match(await ready(), { status: 503, reasons: [help] })
    t.match(String((await ops('/metrics')).body), /^kimchi_ready\{reason="redis-refuses"\} 0$/m)
    await eventually('kp_status says it', async () =>
      help.test(String(await raw.call('FCALL_RO', 'kp_status', 1, '{kp}:meta'))),
    )
    const lines = log.lines.filter(({ message }) => message === 'writing fails, minutes wait')
    t.match(lines, [{ fields: { reason: help } }])
    t.equal(lines.length, 1)
    const written = ['samples', 'daily', 'live'].map(name => raw.keys(`{kp}:${name}*`))
    t.strictSame((await Promise.all(written)).flat(), [])
    await raw.call('ACL', 'SETUSER', 'ingester', '+expireat')
    await eventually('every coin has its minute', async () => (await raw.hlen('{kp}:live')) === COINS.length)
    const keys = await raw.keys('{kp}:samples:*')
    t.ok(keys.length >= COINS.length)
    for (const key of keys) t.ok((await raw.ttl(key)) > 0, key)
  },
)

t.test('simulated prices are refused by a Redis that holds live ones, before anything is stored', async t => {
  const redis = await startRedis(t)
  const raw = redis.client()
  await raw.hset('{kp}:meta', { prices: 'live', layout: 1 })
  const simulator = await exchanges(t)
  const { failed } = await start(t, redis.url, simulator.url)
  t.match(await failed, { code: 'KIMCHI_ERR_PRICES_KIND', message: /live/ })
  t.strictSame(await raw.keys('*'), ['{kp}:meta'])
})

t.test('starts without Redis and exchanges, says so, and has rows seconds after they come', async t => {
  const redis = await startRedis(t)
  await redis.kill()
  // Somebody who hangs up on everyone: the port stays ours until the exchanges come.
  const nobody = createServer(socket => socket.destroy())
  const port = await listen(t, nobody)
  const clock = clockBeforeMinute()
  const { ready, ops } = await start(t, redis.url, `http://127.0.0.1:${port}`, { clock })
  t.match(await ready(), { status: 503 })
  await eventually('the exchanges are missed', async () =>
    (await ready()).reasons.some(reason => reason.startsWith('listings not loaded yet: ')),
  )
  nobody.close()
  await once(nobody, 'close')
  await exchanges(t, { port, clock })
  await eventually(
    'the coins are known',
    async () => !(await ready()).reasons.some(reason => reason.startsWith('listings')),
  )
  await redis.restart()
  const raw = redis.client()
  await eventually('rows are written', async () => (await raw.hlen('{kp}:live')) === COINS.length)
  const status = await eventually('the minute is in the status', async () => {
    const fields = await raw.hgetall('{kp}:ingester:test:1')
    return fields.last_minute ? fields : undefined
  })
  t.match(
    status,
    { last_written_minute: status.last_minute, waiting_minutes: '0' },
    'told when it is written',
  )
  await eventually('it is ready', async () =>
    /^kimchi_ready\{reason=""\} 1$/m.test(String((await ops('/metrics')).body)),
  )
})
