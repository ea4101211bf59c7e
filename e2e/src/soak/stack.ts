import { eventually, type Teardown } from '@kimchi/testkit'
import { getJson, opsPortOf, type Replica, startReplicas } from '../apps.ts'
import { openEdge } from '../edge.ts'
import { openRedisBed } from '../testbed.ts'

/** The whole service in real time: two ingesters, three replicas behind nginx, Redis, both exchanges. */
export type SoakStack = Awaited<ReturnType<typeof openSoakStack>>

const COINS = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT']

/** Starts everything and resolves when every replica has answered with a first minute. */
export async function openSoakStack(t: Teardown) {
  const { redis, bed } = await openRedisBed(t, { factor: 1, startAt: Date.now(), coins: COINS })
  const first = bed.start('a')
  let second = bed.start('b')
  const { replicas, ...upstream } = await startReplicas(t, redis.url, 3)
  const [steady, ...others] = replicas as [Replica, ...Replica[]]
  const edge = await openEdge(t, { ...upstream, perSecond: 1_000, connections: 1_000 })
  // The first minute comes from candles, coin by coin; a coin without any history is rightly a 404.
  for (const { address } of replicas) {
    const url = `http://${address}:${upstream.apiPort}/api/v1/kimchi-premium`
    const isWhole = async () => (await getJson<{ count: number }>(url))?.body.count === COINS.length
    await eventually('a first minute of every coin', isWhole)
  }
  return {
    redis,
    /** For readings; gives up on a Redis that does not answer. */
    raw: redis.client({ commandTimeout: 1_000 }),
    bed,
    /** Where callers call. */
    port: edge.port,
    /** Those of the ingester and the replica that no fault restarts, so that their figures run through. */
    opsPorts: { ingester: await opsPortOf(first), API: steady.opsPort },
    /** Ends the second ingester and starts it again. */
    async restartIngester(signal: NodeJS.Signals) {
      await second.end(signal)
      second = bed.start('b')
    },
    /** Ends one of the other replicas, each in its turn, and starts it again. */
    async restartReplica(signal: NodeJS.Signals) {
      const replica = others.shift() as Replica
      others.push(replica)
      await replica.process.end(signal)
      await replica.start()
    },
  }
}
