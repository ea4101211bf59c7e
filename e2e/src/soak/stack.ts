import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@kimchi/local-redis'
import {
  eventually,
  type Program,
  type RawRedis,
  startRedis,
  type Teardown,
  type TestRedis,
} from '@kimchi/testkit'
import { lacksNginx, openEdge } from '../edge.ts'
import { getJson } from '../get-json.ts'
import { startApp } from '../start-app.ts'
import { openTestbed, type Testbed } from '../testbed.ts'

/** The whole service in real time: two ingesters, three replicas behind nginx, Redis, both exchanges. */
export interface SoakStack {
  readonly redis: TestRedis
  /** For readings; gives up on a Redis that does not answer. */
  readonly raw: RawRedis
  readonly bed: Testbed
  /** Where callers call: the edge, or a replica where there is no nginx. */
  readonly port: number
  readonly hasEdge: boolean
  /** Processes that run from the beginning to the end. */
  readonly steady: Readonly<Record<string, number>>
  /** Ends the second ingester and starts it again. */
  restartIngester(signal: NodeJS.Signals): Promise<void>
  /** Ends one of the replicas, each in its turn but the first, and starts it again. */
  restartReplica(signal: NodeJS.Signals): Promise<void>
}

const COINS = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT']
const REPLICAS = 3

/** Starts everything and resolves when every replica has answered with a first minute. */
export async function openSoakStack(t: Teardown): Promise<SoakStack> {
  const redis = await startRedis(t, { appendonly: true })
  const raw = redis.client()
  const bed = await openTestbed(t, {
    redisUrl: redis.url,
    raw: () => raw,
    factor: 1,
    startAt: Date.now(),
    coins: COINS,
  })
  const first = bed.start('a')
  let second = bed.start('b')
  const apiPort = await freePort()
  const addresses = Array.from({ length: REPLICAS }, (_, index) => `127.0.0.${index + 1}`)
  const startReplica = async (address: string): Promise<Program> => {
    const env = { HOST: address, PORT: String(apiPort), OPS_PORT: '0', REDIS_URL: redis.url }
    const replica = startApp('api', env)
    await replica.line(line => line.includes('API listens'))
    return replica
  }
  const replicas = await Promise.all(addresses.map(startReplica))
  t.teardown(() => Promise.all(replicas.map(replica => replica.end('SIGKILL'))))
  const edge = await startEdge(t, addresses, apiPort)
  const urls = addresses.map(address => `http://${address}:${apiPort}`)
  await untilServing(urls)
  let turn = 0
  return {
    redis,
    raw: redis.client({ commandTimeout: 1_000 }),
    bed,
    port: edge?.port ?? apiPort,
    hasEdge: edge !== undefined,
    steady: {
      ingester: first.pid,
      api: (replicas[0] as Program).pid,
      ...(edge && { nginx: edge.pid }),
    },
    async restartIngester(signal) {
      await second.end(signal)
      second = bed.start('b')
    },
    async restartReplica(signal) {
      turn = (turn % (REPLICAS - 1)) + 1
      await replicas[turn]?.end(signal)
      replicas[turn] = await startReplica(addresses[turn] as string)
    },
  }
}

async function startEdge(t: Teardown, replicas: readonly string[], apiPort: number) {
  if (lacksNginx) return undefined
  const dir = await mkdtemp(join(tmpdir(), 'kimchi-soak-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const edge = await openEdge({ dir, replicas, apiPort, perSecond: 1_000, connections: 1_000 })
  t.teardown(() => edge.close())
  return edge
}

/** The first minute comes from candles, coin by coin; a coin without any history is rightly a 404. */
async function untilServing(urls: readonly string[]): Promise<void> {
  for (const url of urls) {
    const path = `${url}/api/v1/kimchi-premium`
    await eventually(
      'a first minute of every coin',
      async () => (await getJson<{ count: number }>(path))?.body.count === COINS.length,
      120_000,
    )
  }
}
