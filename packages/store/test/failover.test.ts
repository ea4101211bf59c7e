import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { foldDays } from '@kimchi/core'
import { freePort, isPortFree, projectRedis } from '@kimchi/local-redis'
import { createMemoryLog, startRedis } from '@kimchi/testkit'
import { Redis } from 'ioredis'
import t from 'tap'
import { openMinuteQueue } from '../src/minute-queue.ts'
import { createReader } from '../src/reader.ts'
import { openRedis } from '../src/redis/connect.ts'
import { createWriter } from '../src/writer.ts'
import { BTC, sampleOf, todayMinutes } from './fixtures.ts'

t.test('behind Sentinel, writing goes on after a failover and no minute is lost', async t => {
  const master = await startRedis(t, { args: ['--repl-diskless-sync-delay', '0'] })
  const replica = await startRedis(t, { args: ['--replicaof', '127.0.0.1', String(master.port)] })
  const sentinel = await startSentinel(t, master.port)
  const connection = openRedis(`redis+sentinel://127.0.0.1:${sentinel}/kp`, { commandTimeoutMs: 1_000 })
  t.teardown(() => connection.close())
  t.ok(await connection.untilReady(10_000))
  const { today } = await todayMinutes(connection)
  const writer = createWriter({ redis: connection, prices: 'live', retentionDays: 8, log: createMemoryLog() })
  await writer.track([BTC])
  const queue = openMinuteQueue({
    writer,
    clock: {
      now: () => Date.now(),
      wait: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}).catch(() => {}),
    },
    onFatal: error => t.fail(error.message),
    random: Math.random,
    log: createMemoryLog(),
  })
  const minutes = Array.from({ length: 10 }, (_, at) => today + at)
  for (const minute of minutes.slice(0, 5)) queue.enqueue({ minute, samples: [sampleOf('BTC', minute)] })
  t.ok(await queue.flush(10_000))
  // Replication is asynchronous: what the replica has not got goes with the master and is left to backfill.
  while ((await connection.call('WAIT', 1, 500)) !== 1) t.pass('the replica is not up to date yet')
  // A Sentinel asks its master for replicas every ten seconds; one that knows of none has nobody to promote.
  const watcher = new Redis(sentinel, '127.0.0.1')
  t.teardown(() => watcher.disconnect())
  while (!(await knowsGoodReplica(watcher))) await sleep(50)
  await master.kill()
  for (const minute of minutes.slice(5)) queue.enqueue({ minute, samples: [sampleOf('BTC', minute)] })
  while (queue.status().waiting > 0) await sleep(20)
  t.equal((await replica.client().info('replication')).includes('role:master'), true)
  const reader = createReader({ redis: connection })
  t.strictSame(
    (await reader.readDays('BTC')).entries,
    foldDays(minutes.map(minute => sampleOf('BTC', minute))),
  )
})

async function knowsGoodReplica(sentinel: Redis): Promise<boolean> {
  const replicas = (await sentinel.call('SENTINEL', ['REPLICAS', 'kp'])) as string[][]
  return replicas.some(fields => fields[fields.indexOf('flags') + 1] === 'slave')
}

/** One Sentinel that declares the master down after a second and is its own majority. */
async function startSentinel(t: Tap, masterPort: number): Promise<number> {
  const binary = await projectRedis()
  const dir = t.testdir({})
  const file = join(dir, 'sentinel.conf')
  const port = await freePort()
  await writeFile(
    file,
    [
      `port ${port}`,
      `sentinel monitor kp 127.0.0.1 ${masterPort} 1`,
      'sentinel down-after-milliseconds kp 1000',
      'sentinel failover-timeout kp 5000',
    ].join('\n'),
  )
  const child = spawn(binary.server, [file, '--sentinel'], { env: binary.env, stdio: 'ignore' })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  while (await isPortFree(port)) await sleep(20)
  return port
}

type Tap = { teardown(close: () => unknown): void; testdir(content: Record<string, string>): string }
