import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@kimchi/local-redis'
import {
  eventually,
  followProgram,
  type RawRedis,
  startRedis,
  type Teardown,
  type TestRedis,
} from '@kimchi/testkit'

/** Several servers that stand in for each other. */
export type RedisGroup = Awaited<ReturnType<typeof startSentinels>>

/** How soon a dead server is missed. */
const DOWN_AFTER_MS = 1_000

/** Sentinels whose votes were split try again after twice this time. */
const FAILOVER_TIMEOUT_MS = 1_500

/**
 * Sentinels ask the servers every few seconds; a test has no time for that. A replica is promoted only while its
 * INFO is younger than five ping periods, and in a failover INFO is asked for once a second.
 */
const EAGER = ['info-period', '200', 'ping-period', '300', 'ask-period', '100', 'publish-period', '100']

const NO_DELAY = ['--repl-diskless-sync-delay', '0']

/** One primary, a replica of it, three Sentinels that know of both. */
export async function startSentinels(t: Teardown, args: readonly string[] = []) {
  const options = { appendonly: true, args: [...NO_DELAY, ...args] }
  const first = await startRedis(t, options)
  const replicaOf = ['--replicaof', '127.0.0.1', String(first.port)]
  const replica = await startRedis(t, { ...options, args: [...options.args, ...replicaOf] })
  const ports = await Promise.all([0, 1, 2].map(index => startSentinel(t, first, index)))
  const sentinels = ports.map(port => first.client({ port }))
  for (const sentinel of sentinels) {
    await eventually('the Sentinel answers', () => succeeds(sentinel.call('SENTINEL', 'DEBUG', ...EAGER)))
  }
  await eventually('the Sentinels know each other and the replica', async () => {
    const known = await Promise.all(sentinels.map(sentinel => knowsAll(sentinel)))
    return known.every(Boolean)
  })
  const url = `redis+sentinel://${ports.map(port => `127.0.0.1:${port}`).join(',')}/kp`
  return { ...groupOf([first, replica]), url }
}

/** Three primaries, each with one replica. */
export async function startCluster(t: Teardown) {
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1500', ...NO_DELAY]
  // The default, 10,000 above a server's port, is as likely as not somebody else's.
  const startNode = async () =>
    startRedis(t, { appendonly: true, args: [...args, '--cluster-port', String(await freePort())] })
  // A second try, where another test took the port between choosing and listening.
  const nodes = await Promise.all(Array.from({ length: 6 }, () => startNode().catch(startNode)))
  const [first] = nodes as [TestRedis]
  const raws = nodes.map(node => node.client())
  const [, busPort = ''] = (await first.client().config('GET', 'cluster-port')) as string[]
  for (const [index, raw] of raws.entries()) {
    await raw.call('CLUSTER', 'MEET', '127.0.0.1', first.port, busPort)
    const [start, end] = [index, index + 1].map(third => Math.floor((16_384 * third) / 3))
    if (index < 3) await raw.call('CLUSTER', 'ADDSLOTSRANGE', start ?? 0, (end ?? 0) - 1)
  }
  const ids = await Promise.all(raws.map(async raw => String(await raw.call('CLUSTER', 'MYID'))))
  for (const [index, raw] of raws.slice(3).entries()) {
    const follow = () => raw.call('CLUSTER', 'REPLICATE', ids[index] ?? '')
    await eventually('the node is known', () => succeeds(follow()))
  }
  for (const raw of raws) {
    await eventually('the cluster is whole', async () =>
      String(await raw.call('CLUSTER', 'INFO')).includes('cluster_state:ok'),
    )
    await eventually('the server is up to date', async () => {
      const info = await raw.info('replication')
      return info.includes('role:master') ? isFollowed(info) : info.includes('master_link_status:up')
    })
  }
  return {
    ...groupOf(nodes),
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
  }
}

/** Which server is primary is asked of the servers themselves; on a Cluster the one that owns our slot. */
function groupOf(nodes: readonly TestRedis[]) {
  const clients = new Map(nodes.map(node => [node, node.client({ commandTimeout: 1_000 })]))
  const findPrimary = () =>
    eventually('a primary', async () => {
      for (const [node, client] of clients) if (await isPrimary(client)) return { node, client }
      return undefined
    })
  const replicasOf = async (port: number) => {
    const replicas: TestRedis[] = []
    for (const [node, client] of clients) {
      const [role, , of] = await client.role().catch(() => [])
      if (role === 'slave' && of === port) replicas.push(node)
    }
    return replicas
  }
  return {
    nodes,
    replicasOf,
    /** A raw connection to the server that holds the data now. */
    primary: async () => (await findPrimary()).client,
    /**
     * Kills the server that holds the data and waits for the next one; the old one stays away.
     * @param confirmed what has to happen while the replicas are frozen: the dying server alone will know of it
     */
    async failOver(confirmed: (primary: RawRedis) => Promise<unknown>) {
      const { node, client } = await findPrimary()
      const replicas = await replicasOf(node.port)
      for (const replica of replicas) replica.pause()
      // What was sent to a frozen replica waits in its socket: cut, it gets nothing more.
      await client.call('CLIENT', 'KILL', 'TYPE', 'replica')
      try {
        await confirmed(client)
        await node.kill()
      } finally {
        for (const replica of replicas) replica.resume()
      }
      await findPrimary()
    },
  }
}

async function isPrimary(client: RawRedis): Promise<boolean> {
  const replies = await client
    .multi()
    .get('{kp}:none')
    .role()
    .exec()
    .catch(() => null)
  return replies?.every(([error]) => !error) === true && String(replies[1]?.[1]).startsWith('master')
}

/** A primary of one shard has one replica; a server that is about to be made a replica has none. */
function isFollowed(info: string): boolean {
  return /connected_slaves:[1-9]/.test(info)
}

async function knowsAll(sentinel: RawRedis): Promise<boolean> {
  const replicas = (await sentinel.call('SENTINEL', 'REPLICAS', 'kp').catch(() => [])) as string[][]
  const others = (await sentinel.call('SENTINEL', 'SENTINELS', 'kp').catch(() => [])) as string[][]
  const known = replicas.filter(fields => fields[fields.indexOf('flags') + 1] === 'slave')
  return known.length === 1 && others.length === 2
}

async function startSentinel(t: Teardown, primary: TestRedis, index: number): Promise<number> {
  const port = await freePort()
  const file = join(primary.dir, `sentinel-${index}.conf`)
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${primary.dir}`,
    `sentinel monitor kp 127.0.0.1 ${primary.port} 2`,
    `sentinel down-after-milliseconds kp ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout kp ${FAILOVER_TIMEOUT_MS}`,
  ]
  await writeFile(file, lines.join('\n'))
  const child = spawn(primary.binary.server, [file, '--sentinel'], { stdio: ['ignore', 'pipe', 'pipe'] })
  const sentinel = followProgram(child, `Sentinel ${index}`)
  t.teardown(() => sentinel.end('SIGKILL'))
  return port
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}
