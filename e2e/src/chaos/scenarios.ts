import { readdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { HOUR_MS } from '@kimchi/core'
import { startRedis, type TestRedis } from '@kimchi/testkit'
import type { AppProcess } from '../app-process.ts'
import type { Verdict } from '../audit.ts'
import { openSteppedClock } from '../faketime.ts'
import { type RedisGroup, startCluster, startSentinels } from '../redis-groups.ts'
import { openWorld, type Teardown, type World } from '../world.ts'

/** One kind of mishap, again and again. */
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
  { name: 'three Sentinels, master SIGKILL', per200: 4, run: (t, n, r) => failOver(t, n, r, startSentinels) },
  { name: 'six-node Cluster, master SIGKILL', per200: 2, run: (t, n, r) => failOver(t, n, r, startCluster) },
  { name: 'wall clock stepped', per200: 10, run: stepClock },
  { name: 'three hours away', per200: 4, run: stayAway },
]

async function openPlace(t: Teardown): Promise<{ redis: TestRedis; world: World }> {
  const redis = await startRedis(t, { appendonly: true })
  const raw = redis.client()
  return { redis, world: await openWorld(t, { redisUrl: redis.url, raw: () => raw }) }
}

async function killIngester(t: Teardown, rounds: number, random: () => number) {
  const { world } = await openPlace(t)
  for (let round = 0; round < rounds; round++) {
    const ingester = world.start('a')
    await delay(400 + random() * 2_200)
    await ingester.end('SIGKILL')
  }
  return world.settle()
}

async function killEither(t: Teardown, rounds: number, random: () => number) {
  const { world } = await openPlace(t)
  const running: Record<string, AppProcess> = { a: world.start('a'), b: world.start('b') }
  for (let round = 0; round < rounds; round++) {
    await delay(400 + random() * 2_200)
    const id = random() < 0.5 ? 'a' : 'b'
    await running[id]?.end('SIGKILL')
    running[id] = world.start(id)
  }
  return world.settle()
}

async function killRedis(t: Teardown, rounds: number, random: () => number) {
  const { redis, world } = await openPlace(t)
  world.start('a')
  for (let round = 0; round < rounds; round++) {
    await delay(500 + random() * 3_000)
    await redis.kill()
    await delay(random() * 2_000)
    await redis.restart()
  }
  return world.settle()
}

async function freezeRedis(t: Teardown, rounds: number, random: () => number) {
  const { redis, world } = await openPlace(t)
  world.start('a')
  for (let round = 0; round < rounds; round++) {
    await delay(500 + random() * 2_000)
    redis.pause()
    await delay(500 + random() * 4_000)
    redis.resume()
  }
  await delay(2_000)
  return world.settle()
}

async function cutFile(t: Teardown, rounds: number, random: () => number) {
  const { redis, world } = await openPlace(t)
  world.start('a')
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
  return world.settle()
}

async function failOver(
  t: Teardown,
  rounds: number,
  random: () => number,
  open: (t: Teardown) => Promise<RedisGroup>,
) {
  const group = await open(t)
  const world = await openWorld(t, { redisUrl: group.url, raw: group.master })
  world.start('a')
  await delay(8_000)
  for (let round = 0; round < rounds; round++) {
    await delay(random() * 3_000)
    await group.failOver()
  }
  await delay(2_000)
  return world.settle()
}

/** By ±90 s and +1 h of the world's time, and back. */
async function stepClock(t: Teardown, rounds: number, random: () => number) {
  const { redis, world } = await openPlace(t)
  const stepped = await openSteppedClock(redis.dir)
  if (stepped === undefined) return undefined
  world.start('a', stepped.env)
  await delay(6_000)
  for (let round = 0; round < rounds; round++) {
    const worldMs = [90_000, -90_000, HOUR_MS][Math.floor(random() * 3)] ?? 0
    await stepped.step(worldMs / world.clock.factor)
    await delay(2_000 + random() * 6_000)
    await stepped.step(0)
    await delay(2_000 + random() * 3_000)
  }
  return world.settle()
}

async function stayAway(t: Teardown, rounds: number, random: () => number) {
  const { world } = await openPlace(t)
  for (let round = 0; round < rounds; round++) {
    world.start('a')
    await delay(3_000 + random() * 6_000)
    await world.killAll()
    world.clock.jump(3 * HOUR_MS)
  }
  return world.settle()
}
