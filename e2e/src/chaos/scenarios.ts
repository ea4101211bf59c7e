import { readdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { HOUR_MS } from '@kimchi/core'
import {
  eventually,
  type Program,
  type RawRedis,
  type RedisGroup,
  startCluster,
  startRedis,
  startSentinels,
  type Teardown,
  type TestRedis,
  type Verdict,
} from '@kimchi/testkit'
import { openSteppedClock } from '../faketime.ts'
import { openTestbed, type Testbed } from '../testbed.ts'

/** One kind of fault, again and again. */
export interface Scenario {
  readonly name: string
  /** Rounds for each 200 that are asked for. */
  readonly per200: number
  /** Undefined when this machine lacks what it takes. */
  run(t: Teardown, rounds: number, random: () => number): Promise<Verdict | undefined>
}

/** All scenarios, by the numbers of the faults. */
export const SCENARIOS: readonly Scenario[] = [
  { name: 'ingester SIGKILL', per200: 200, run: killIngester },
  { name: 'two ingesters, either SIGKILL', per200: 100, run: killEither },
  { name: 'Redis SIGKILL and restart', per200: 20, run: killRedis },
  { name: 'Redis SIGSTOP', per200: 20, run: freezeRedis },
  { name: 'append-only file cut', per200: 20, run: cutFile },
  {
    name: 'three Sentinels, primary SIGKILL',
    per200: 20,
    run: (t, n, r) => failOver(t, n, r, startSentinels),
  },
  {
    name: 'six-node Cluster, primary SIGKILL',
    per200: 20,
    run: (t, n, r) => failOver(t, n, r, startCluster),
  },
  { name: 'wall clock stepped', per200: 10, run: stepClock },
  { name: 'three hours away', per200: 4, run: stayAway },
]

async function openPlace(t: Teardown): Promise<{ redis: TestRedis; bed: Testbed }> {
  const redis = await startRedis(t, { appendonly: true })
  const raw = redis.client()
  return { redis, bed: await openTestbed(t, { redisUrl: redis.url, raw: () => raw }) }
}

async function killIngester(t: Teardown, rounds: number, random: () => number) {
  const { bed } = await openPlace(t)
  for (let round = 0; round < rounds; round++) {
    const ingester = bed.start('a')
    await delay(400 + random() * 2_200)
    await ingester.end('SIGKILL')
  }
  return bed.settle()
}

async function killEither(t: Teardown, rounds: number, random: () => number) {
  const { bed } = await openPlace(t)
  const running: Record<string, Program> = { a: bed.start('a'), b: bed.start('b') }
  for (let round = 0; round < rounds; round++) {
    await delay(400 + random() * 2_200)
    const id = random() < 0.5 ? 'a' : 'b'
    await running[id]?.end('SIGKILL')
    running[id] = bed.start(id)
  }
  return bed.settle()
}

async function killRedis(t: Teardown, rounds: number, random: () => number) {
  const { redis, bed } = await openPlace(t)
  bed.start('a')
  for (let round = 0; round < rounds; round++) {
    await delay(500 + random() * 3_000)
    await redis.kill()
    await delay(random() * 2_000)
    await redis.restart()
  }
  return bed.settle()
}

async function freezeRedis(t: Teardown, rounds: number, random: () => number) {
  const { redis, bed } = await openPlace(t)
  bed.start('a')
  for (let round = 0; round < rounds; round++) {
    await delay(500 + random() * 2_000)
    redis.pause()
    await delay(500 + random() * 4_000)
    redis.resume()
  }
  await delay(2_000)
  return bed.settle()
}

async function cutFile(t: Teardown, rounds: number, random: () => number) {
  const { redis, bed } = await openPlace(t)
  bed.start('a')
  for (let round = 0; round < rounds; round++) {
    await delay(2_000 + random() * 2_000)
    await redis.stop()
    const folder = join(redis.dir, 'appendonlydir')
    const names = (await readdir(folder)).filter(name => name.endsWith('.incr.aof')).sort()
    const file = join(folder, names.at(-1) ?? '')
    await truncate(file, Math.floor((await stat(file)).size * (0.5 + random() / 2)))
    await redis.restart()
  }
  await delay(2_000)
  return bed.settle()
}

/** Each time the newest minute is confirmed by a server that dies before any replica has it. */
async function failOver(
  t: Teardown,
  rounds: number,
  random: () => number,
  open: (t: Teardown) => Promise<RedisGroup>,
) {
  const group = await open(t)
  const bed = await openTestbed(t, { redisUrl: group.url, raw: group.primary })
  bed.start('a')
  await delay(8_000)
  for (let round = 0; round < rounds; round++) {
    await delay(random() * 3_000)
    await group.failOver(minuteConfirmed)
    await group.heal()
  }
  await delay(2_000)
  return bed.settle()
}

/** Resolves when a minute newer than those of now is in the live list. */
async function minuteConfirmed(primary: RawRedis): Promise<void> {
  const newest = async () =>
    Math.max(
      0,
      ...(await primary.hvals('{kp}:live')).map(row => Date.parse(`${JSON.parse(row).snapshot_at}Z`)),
    )
  const before = await newest()
  await eventually('a minute is confirmed', async () => (await newest()) > before)
}

/** By ±90 s and +1 h of the testbed's clock, and back. */
async function stepClock(t: Teardown, rounds: number, random: () => number) {
  const { redis, bed } = await openPlace(t)
  const stepped = await openSteppedClock(redis.dir)
  if (stepped === undefined) return undefined
  bed.start('a', stepped.env)
  await delay(6_000)
  for (let round = 0; round < rounds; round++) {
    const stepMs = [90_000, -90_000, HOUR_MS][Math.floor(random() * 3)] ?? 0
    await stepped.step(stepMs / bed.clock.factor)
    await delay(2_000 + random() * 6_000)
    await stepped.step(0)
    await delay(2_000 + random() * 3_000)
  }
  return bed.settle()
}

async function stayAway(t: Teardown, rounds: number, random: () => number) {
  const { bed } = await openPlace(t)
  for (let round = 0; round < rounds; round++) {
    bed.start('a')
    await delay(3_000 + random() * 6_000)
    await bed.killAll()
    bed.clock.jump(3 * HOUR_MS)
  }
  return bed.settle()
}
