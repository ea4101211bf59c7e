import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '@kimchi/local-redis'
import { type RawRedis, startRedis, type TestRedis } from '@kimchi/testkit'
import { eventually } from './eventually.ts'
import type { Teardown } from './testbed.ts'

/** Several servers that stand in for each other. */
export interface RedisGroup {
  readonly url: string
  /** A connection to the server that holds the data now. */
  master(): Promise<RawRedis>
  /**
   * Kills the server that holds the data, waits for the new one, and brings the old one back as its replica.
   * @param confirmed what has to happen while the replicas are frozen: the dying server alone will know of it
   */
  failOver(confirmed?: (master: RawRedis) => Promise<unknown>): Promise<void>
}

/** One master, one replica, three Sentinels. */
export async function startSentinels(t: Teardown): Promise<RedisGroup> {
  const first = await startRedis(t, { appendonly: true, args: ['--repl-diskless-sync-delay', '0'] })
  const options = ['--replicaof', '127.0.0.1', String(first.port), '--repl-diskless-sync-delay', '0']
  const second = await startRedis(t, { appendonly: true, args: options })
  const ports: number[] = []
  for (let index = 0; index < 3; index++) ports.push(await startSentinel(t, first, index))
  const group = groupOf([first, second])
  return { ...group, url: `redis+sentinel://${ports.map(port => `127.0.0.1:${port}`).join(',')}/kp` }
}

/** Three masters, three replicas. */
export async function startCluster(t: Teardown): Promise<RedisGroup> {
  const args = [
    '--cluster-enabled',
    'yes',
    '--cluster-node-timeout',
    '1500',
    '--repl-diskless-sync-delay',
    '0',
  ]
  const nodes: TestRedis[] = []
  for (let index = 0; index < 6; index++) nodes.push(await startRedis(t, { appendonly: true, args }))
  const [first] = nodes as [TestRedis]
  const raws = nodes.map(node => node.client())
  for (const [index, raw] of raws.entries()) {
    await raw.call('CLUSTER', ['MEET', '127.0.0.1', String(first.port)])
    const start = Math.floor((16_384 * index) / 3)
    if (index < 3)
      await raw.call('CLUSTER', [
        'ADDSLOTSRANGE',
        String(start),
        String(Math.floor((16_384 * (index + 1)) / 3) - 1),
      ])
  }
  const ids = await Promise.all(raws.map(async raw => String(await raw.call('CLUSTER', ['MYID']))))
  for (const [index, raw] of raws.slice(3).entries()) {
    await eventually('the node is known', 20_000, async () =>
      raw.call('CLUSTER', ['REPLICATE', ids[index] ?? '']).then(
        () => true,
        () => undefined,
      ),
    )
  }
  for (const raw of raws) {
    await eventually(
      'the cluster is whole',
      30_000,
      async () => String(await raw.call('CLUSTER', ['INFO'])).includes('cluster_state:ok') || undefined,
    )
  }
  const url = `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
  return { ...groupOf(nodes), url }
}

/** Which server is master is asked of the servers themselves; on a Cluster the one that owns our slot. */
function groupOf(nodes: readonly TestRedis[]): Omit<RedisGroup, 'url'> {
  const clients = new Map(nodes.map(node => [node, node.client({ commandTimeout: 1_000 })]))
  const findMaster = () =>
    eventually('a master', 30_000, async () => {
      for (const [node, client] of clients) {
        const isOurs = await client
          .multi()
          .get('{kp}:none')
          .role()
          .exec()
          .then(
            replies => replies?.every(([error]) => !error) && String(replies[1]?.[1]).startsWith('master'),
            () => false,
          )
        if (isOurs) return { node, client }
      }
      return undefined
    })
  return {
    master: async () => (await findMaster()).client,
    async failOver(confirmed = async () => {}) {
      const { node, client } = await findMaster()
      const replicas = await replicasOf(node, clients)
      for (const replica of replicas) replica.pause()
      try {
        await confirmed(client)
        await node.kill()
      } finally {
        for (const replica of replicas) replica.resume()
      }
      await findMaster()
      await node.restart()
      await delay(2_000)
    },
  }
}

async function replicasOf(
  master: TestRedis,
  clients: ReadonlyMap<TestRedis, RawRedis>,
): Promise<readonly TestRedis[]> {
  const replicas: TestRedis[] = []
  for (const [node, client] of clients) {
    const [role, , port] = (await client.role()) as [string, string, number]
    if (role === 'slave' && port === master.port) replicas.push(node)
  }
  return replicas
}

async function startSentinel(t: Teardown, master: TestRedis, index: number): Promise<number> {
  const port = await freePort()
  const file = join(master.dir, `sentinel-${index}.conf`)
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${master.dir}`,
    `sentinel monitor kp 127.0.0.1 ${master.port} 2`,
    'sentinel down-after-milliseconds kp 1000',
    'sentinel failover-timeout kp 4000',
  ]
  await writeFile(file, lines.join('\n'))
  const child = spawn(master.binary.server, [file, '--sentinel'], { env: master.binary.env, stdio: 'ignore' })
  t.teardown(() => endChild(child))
  await delay(500)
  return port
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
