import { messageOf } from '@kimchi/core'
import { binanceProtocol, openConnection } from '@kimchi/feeds'
import { systemClock, waitForFarAddresses } from '@kimchi/runtime'
import { startSimulator } from '@kimchi/simulator'
import { createMemoryLog, eventually, startProgram, startRedis } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { type FarAddress, placeFar } from './support/far-network.ts'

const IMPORTS = ['@kimchi/testkit/strip-types', './support/far-network.ts'].flatMap(name => [
  '--import',
  import.meta.resolve(name),
])
const MAINS = new URL('../dist/', import.meta.url).pathname

/** Addresses of a network of its own for each name, with dead ones. */
const v4 = (net: number, count: number, delayMs?: number) => addressesOf(`203.0.${net}.`, count, delayMs)
const v6 = (net: number, count: number, delayMs?: number) => addressesOf(`2001:db8:${net}::`, count, delayMs)
const addressesOf = (net: string, count: number, delayMs?: number): FarAddress[] =>
  Array.from({ length: count }, (_, host) => ({
    address: `${net}${host + 1}`,
    ...(delayMs !== undefined && { delayMs }),
  }))

const simulator = await startSimulator({ limits: false })
t.teardown(() => simulator.close())

/** The simulator's URLs at another name. */
const urlsAt = (name: string) => ({
  UPBIT_WS_URL: simulator.env.UPBIT_WS_URL.replace('127.0.0.1', name),
  UPBIT_REST_URL: simulator.url.replace('127.0.0.1', name),
  BINANCE_WS_URL: simulator.env.BINANCE_WS_URL.replace('127.0.0.1', name),
  BINANCE_REST_URL: simulator.url.replace('127.0.0.1', name),
})

/** 300 ms away, by two addresses of which the last can't be reached. */
const environment = {
  ...urlsAt('far.test'),
  FAR_HOSTS: JSON.stringify({ 'far.test': [...v4(1, 1, 300), ...v6(1, 1)] }),
  COINS: 'BTC,ETH',
  PRICES: 'simulated',
}

/** One of our programs, for which the exchanges are on another continent. */
const start = (t: Test, main: string, args: readonly string[], env: Readonly<Record<string, string>>) =>
  startProgram(t, [...IMPORTS, `${MAINS}${main}`, ...args], { ...environment, ...env })

t.test('ingester and import reach an exchange on another continent', async t => {
  const redis = await startRedis(t)
  const env = { REDIS_URL: redis.url, BACKFILL_DAYS: '0', SAMPLE_RETENTION_DAYS: '1' }
  const ingester = start(t, 'main.js', [], { ...env, OPS_PORT: '0' })
  await ingester.line(line => line.includes('"catalogue changed"'))
  for (const exchange of ['upbit', 'binance'])
    await ingester.line(line => line.includes('"feed is up"') && line.includes(exchange))
  const raw = redis.client()
  await eventually('the coins', async () => (await raw.hlen('{kp}:coins')) === 2)
  const imported = start(t, 'backfill/import-main.js', ['--days', '2'], env)
  t.match(await imported.line(line => /complete|waits/i.test(line)), /complete/)
})

t.test('the doctor reaches it too, and says why another one is not reached', async t => {
  const doctor = start(t, 'doctor/main.js', [], { BINANCE_WS_URL: 'ws://far.test:1' })
  const bases = await doctor.line(line => / bases: /.test(line))
  for (const variable of ['UPBIT_WS_URL', 'UPBIT_REST_URL', 'BINANCE_REST_URL'])
    t.match(bases, new RegExp(`${variable} \\S+far\\.test\\S* in `))
  t.match(bases, /BINANCE_WS_URL: \S.* ECONNREFUSED|BINANCE_WS_URL: \S.*no answer/)
})

const NAMES: Readonly<Record<string, readonly FarAddress[]>> = {
  'four.test': [...v4(2, 4, 300), ...v6(2, 8)],
  'dead-first.test': [...v6(3, 8), ...v4(3, 4, 300)],
  'eight.test': [...v4(4, 4), ...v6(4, 8, 300)],
  'last.test': [...v6(5, 8, 300), ...v4(5, 4)],
}
placeFar({ ...NAMES, 'refused.test': [...v4(6, 4, 0), ...v6(6, 8, 0)] })
waitForFarAddresses()

t.test('of four and eight addresses one family may be dead, whichever comes first', async t => {
  const context = { clock: systemClock, random: Math.random, log: createMemoryLog() }
  const reached = Object.keys(NAMES).map(async name => {
    const began = performance.now()
    const urls = urlsAt(name)
    await fetch(`${urls.BINANCE_REST_URL}/api/v3/ping`)
    const options = { protocol: binanceProtocol, base: urls.BINANCE_WS_URL, userAgent: 'test', markets: [] }
    const connection = openConnection({ ...options, onFrame: () => {} }, context)
    t.teardown(() => connection.close())
    await eventually('the handshake', () => connection.openedAt !== undefined || connection.signal.aborted)
    t.ok(connection.openedAt, name)
    t.ok(performance.now() - began < 20_000, `${name}: each within ten seconds`)
  })
  await Promise.all(reached)
})

t.test('of a name whose addresses all refuse, one line has a few', async t => {
  const failed = await fetch('http://refused.test:2/').catch(messageOf)
  t.match(failed, /^fetch failed: connect ECONNREFUSED \S+:2(, connect ECONNREFUSED \S+:2){3} and 8 more$/)
})
