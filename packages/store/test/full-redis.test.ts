import { readFileSync } from 'node:fs'
import { createMemoryCgroup, eventually, startRedis } from '@kimchi/testkit'
import t from 'tap'

const MEBIBYTE = 1_048_576
const ROOT = new URL('../../../', import.meta.url)
const runbook = readFileSync(new URL('docs/operations.md', ROOT), 'utf8').split('## Redis is full\n')[1] ?? ''
const compose = readFileSync(new URL('docker-compose.yml', ROOT), 'utf8')

/** Mebibytes: a quarter of the first figure that the pattern finds, since only their ratios matter. */
function figure(text: string, pattern: RegExp): number {
  const [, count, unit] = pattern.exec(text) ?? []
  return (Number(count) * (unit === 'g' ? 1024 : 1)) / 4
}

const cgroup = createMemoryCgroup(t)
const skip = cgroup === undefined && 'no memory cgroup can be made here'

// docs/faults.md, 93
t.test('a full Redis outlives what the runbook does, and its next start', { skip }, async t => {
  const redis = await startRedis(t, { appendonly: true })
  const client = redis.client({ commandTimeout: 10_000 })
  const enter = async () => cgroup?.add(Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1]))
  const value = Buffer.alloc(MEBIBYTE - 64, 'x')
  const fill = async () => {
    for (let index = Date.now(); ; index++) {
      const answer = await client.set(`{kp}:${index}`, value).catch(String)
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
  // What it holds in its buffer while the disk is slow dies with it (docs/faults.md, 6).
  await eventually('everything is in the file', async () => {
    const persistence = await client.info('persistence')
    return /aof_buffer_length:0\b/.test(persistence) && /aof_pending_bio_fsync:0\b/.test(persistence)
  })
  await redis.kill()
  await redis.restart()
  t.equal(await client.dbsize(), keys)
})
