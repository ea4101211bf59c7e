import { eventually, type Teardown } from '@kimchi/testkit'
import { getJson, opsPortOf, startReplicas } from '../apps.ts'
import { openEdge } from '../edge.ts'
import { openTestbed } from '../testbed.ts'

const COINS = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT']

/**
 * The whole service in real time: two ingesters, three replicas behind nginx, Redis, both exchanges. Resolves when
 * every replica has answered with a first minute.
 */
export async function openSoakStack(t: Teardown) {
  const bed = await openTestbed(t, { factor: 1, startAt: Date.now(), coins: COINS })
  const first = bed.start('a')
  bed.start('b')
  const { replicas, ...upstream } = await startReplicas(t, bed.redis.url, 3)
  const edge = await openEdge(t, { ...upstream, perSecond: 1_000, connections: 1_000 })
  // The first minute comes from candles, coin by coin; a coin without any history is rightly a 404.
  for (const { address } of replicas) {
    const url = `http://${address}:${upstream.apiPort}/api/v1/kimchi-premium`
    const isWhole = async () => (await getJson<{ count: number }>(url))?.body.count === COINS.length
    await eventually('a first minute of every coin', isWhole)
  }
  return {
    /** For readings; gives up on a Redis that does not answer. */
    raw: bed.redis.client({ commandTimeout: 1_000 }),
    bed,
    /** Where callers call. */
    port: edge.port,
    /** Of one ingester and one replica. */
    opsPorts: { ingester: await opsPortOf(first), API: Number(replicas[0]?.opsPort) },
  }
}
