import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, startRedis } from '@kimchi/testkit'
import t from 'tap'

const MEBIBYTE = 1_048_576
const ROOT = new URL('../../../', import.meta.url)
const runbook = readFileSync(new URL('docs/operations.md', ROOT), 'utf8').split('## Redis is full\n')[1] ?? ''
const compose = readFileSync(new URL('docker-compose.yml', ROOT), 'utf8')

/** Mebibytes of the first figure that the pattern finds. */
function figure(text: string, pattern: RegExp): number {
  const [, count, unit] = pattern.exec(text) ?? []
  return Number(count) * (unit === 'g' ? 1024 : 1)
}

/** A memory cgroup of this test, by version 2 or 1; undefined where none can be made. */
function createCgroup() {
  const root = existsSync('/sys/fs/cgroup/memory') ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup'
  const folder = join(root, `kimchi-${process.pid}`)
  const file = root.endsWith('memory') ? 'memory.limit_in_bytes' : 'memory.max'
  try {
    mkdirSync(folder)
    accessSync(join(folder, file), constants.W_OK)
  } catch {
    return undefined
  }
  return {
    limit: (mebibytes: number) => writeFileSync(join(folder, file), `${mebibytes * MEBIBYTE}`),
    add: (pid: number) => writeFileSync(join(folder, 'cgroup.procs'), `${pid}`),
    remove: () => eventually('it is empty', () => rmdirSync(folder) === undefined).catch(() => undefined),
  }
}

const cgroup = createCgroup()
const skip = cgroup === undefined && 'no memory cgroup can be made here'

t.test('a full Redis outlives what the runbook does, and its next start', { skip }, async t => {
  const redis = await startRedis(t, { appendonly: true })
  t.teardown(() => cgroup?.remove())
  const client = redis.client({ commandTimeout: 10_000 })
  const enter = async () => cgroup?.add(Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1]))
  const fill = async () => {
    for (let index = Date.now(); ; index++) {
      const answer = await client.set(`{kp}:${index}`, 'x'.repeat(MEBIBYTE - 64)).catch(String)
      if (answer !== 'OK') return answer
    }
  }
  cgroup?.limit(figure(compose, /REDIS_MEMORY:-(\d+)(m|g)/))
  await enter()
  await client.config('SET', 'maxmemory', `${figure(compose, /REDIS_MAXMEMORY:-(\d+)(m|g)/)}mb`)
  t.match(await fill(), /OOM/)

  cgroup?.limit(figure(runbook, /docker update --memory (\d+)(m|g)/))
  const more = figure(runbook, /CONFIG SET maxmemory (\d+)(m|g)/)
  await client.config('SET', 'maxmemory', `${more}mb`)
  t.match(await fill(), /OOM/)
  await eventually('Redis has made its file compact by itself', async () =>
    /aof_rewrite_in_progress:0/.test(await client.info('persistence')),
  )
  const keys = await client.dbsize()
  t.ok(keys > more * 0.9)
  await redis.kill()
  await redis.restart()
  t.equal(await client.dbsize(), keys)
})
