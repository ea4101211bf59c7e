import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { ask, createMemoryCgroup, eventually } from '@kimchi/testkit'
import t from 'tap'
import { MANY, startFullRedis, startReplica } from './stack.ts'

const ROOT = new URL('../../../', import.meta.url)
/** Spans that are compressed. */
const COMMON = [3_650, 7, 30, 90, 365]
const DAYS = 5 * 365

const [, imageNode] =
  /^ARG NODE_IMAGE=.*node:(\d+)\./m.exec(readFileSync(new URL('Dockerfile', ROOT), 'utf8')) ?? []
const isShipped = process.versions.node.startsWith(`${imageNode}.`)
const cgroup = createMemoryCgroup(t)
const skip = isShipped
  ? cgroup === undefined && 'no memory cgroup can be made here'
  : `the limit is that of Node ${imageNode}, on which .ci/run shows it`

// docs/faults.md, 91
t.test(
  '200 coins of five years, every common span in every coding: lives at the shipped limit',
  { skip },
  async t => {
    const { redis } = await startFullRedis(t, DAYS, MANY)
    cgroup?.limit(shippedLimit())
    const replica = await startReplica(t, redis.url, cgroup && { cgroup })
    const agent = new Agent({ keepAlive: true, maxSockets: 20 })
    t.teardown(() => agent.destroy())
    const read = async (symbol: string, days: number, coding: string) => {
      const path = `/api/v1/kimchi-premium/${symbol}/daily?days=${days}`
      const options = { headers: { 'accept-encoding': coding }, agent }
      // The first read of a coin's days may take longer than a request waits, and a kept connection may just end.
      const { headers } = await eventually(path, async () => {
        const answer = await ask(replica.port, path, options).catch(error => {
          if (error.code !== 'ECONNRESET') throw error
        })
        return answer?.status === 200 && answer
      })
      return headers['content-encoding'] ?? 'identity'
    }
    for (const days of COMMON) {
      for (const coding of ['br', 'gzip', 'identity']) {
        const seen = await Promise.all(MANY.map(symbol => read(symbol, days, coding)))
        t.strictSame(new Set(seen), new Set([coding]), `${days} days, ${coding}`)
      }
    }
    t.equal(replica.child.exitCode ?? replica.child.signalCode, null)
    t.comment(`${Math.round(cgroup?.peak() ?? 0)} of ${shippedLimit()} MB at most`)
  },
)

/** Mebibytes that compose gives the API. */
function shippedLimit(): number {
  const [, api = ''] =
    /^ {2}api:\n((?: {4}.*\n|\n)+)/m.exec(readFileSync(new URL('docker-compose.yml', ROOT), 'utf8')) ?? []
  return Number(/mem_limit: (\d+)m/.exec(api)?.[1])
}
