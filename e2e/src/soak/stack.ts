import { freePort } from '@kimchi/local-redis'
import { createFolder, eventually, type Program, type Teardown } from '@kimchi/testkit'
import { getJson, opsPortOf, startApp } from '../apps.ts'
import { lacksNginx, openEdge } from '../edge.ts'
import { openRedisBed } from '../testbed.ts'

/** The whole service in real time: two ingesters, three replicas behind nginx, Redis, both exchanges. */
export type SoakStack = Awaited<ReturnType<typeof openSoakStack>>

const COINS = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT']
const REPLICAS = 3

/** Starts everything and resolves when every replica has answered with a first minute. */
export async function openSoakStack(t: Teardown) {
  const { redis, bed } = await openRedisBed(t, { factor: 1, startAt: Date.now(), coins: COINS })
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
  // The first minute comes from candles, coin by coin; a coin without any history is rightly a 404.
  for (const address of addresses) {
    const url = `http://${address}:${apiPort}/api/v1/kimchi-premium`
    const isWhole = async () => (await getJson<{ count: number }>(url))?.body.count === COINS.length
    await eventually('a first minute of every coin', isWhole)
  }
  let turn = 0
  return {
    redis,
    /** For readings; gives up on a Redis that does not answer. */
    raw: redis.client({ commandTimeout: 1_000 }),
    bed,
    /** Where callers call: the edge, or a replica where there is no nginx. */
    port: edge?.port ?? apiPort,
    hasEdge: edge !== undefined,
    /** Of an ingester and a replica that run from the beginning to the end. */
    opsPorts: { ingester: await opsPortOf(first), api: await opsPortOf(replicas[0] as Program) },
    /** Ends the second ingester and starts it again. */
    async restartIngester(signal: NodeJS.Signals) {
      await second.end(signal)
      second = bed.start('b')
    },
    /** Ends one of the replicas, each in its turn but the first, and starts it again. */
    async restartReplica(signal: NodeJS.Signals) {
      turn = (turn % (REPLICAS - 1)) + 1
      await replicas[turn]?.end(signal)
      replicas[turn] = await startReplica(addresses[turn] as string)
    },
  }
}

async function startEdge(t: Teardown, replicas: readonly string[], apiPort: number) {
  if (lacksNginx) return undefined
  const dir = await createFolder(t)
  const edge = await openEdge({ dir, replicas, apiPort, perSecond: 1_000, connections: 1_000 })
  t.teardown(() => edge.close())
  return edge
}
