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
  startSentinels,
  type Teardown,
  type TestRedis,
  type Verdict,
} from '@kimchi/testkit'
import { lacksFaketime, openSteppedClock } from './faketime.ts'
import { fromMidnight, openRedisBed, openTestbed, type Testbed } from './testbed.ts'

type Random = () => number

/** Midnight passes meanwhile. */
const acrossMidnight = () => ({ startAt: fromMidnight(-10) })

/** One kind of fault, again and again. */
export interface Scenario {
  readonly name: string
  /** Rounds for each 200 that are asked for. */
  readonly per200: number
  /** What this machine lacks for it. */
  readonly lacks?: string | false
  run(t: Teardown, rounds: number, random: Random): Promise<Verdict>
}

/** All scenarios, in the order of docs/faults.md. */
export const SCENARIOS: readonly Scenario[] = [
  { name: 'ingester SIGKILL', per200: 200, run: onRedis(killIngester) },
  { name: 'two ingesters, either SIGKILL', per200: 100, run: onRedis(killEither) },
  { name: 'Redis SIGKILL and restart', per200: 20, run: onRedis(killRedis) },
  { name: 'Redis SIGSTOP', per200: 20, run: onRedis(freezeRedis) },
  { name: 'append-only file cut', per200: 10, run: onRedis(cutFile) },
  { name: 'three Sentinels, primary SIGKILL', per200: 20, run: onGroup(startSentinels) },
  { name: 'six-node Cluster, primary SIGKILL', per200: 20, run: onGroup(startCluster) },
  { name: 'wall clock stepped', per200: 10, lacks: lacksFaketime, run: stepClock },
  { name: 'three hours away', per200: 4, run: onRedis(stayAway) },
]

/** What a scenario on one Redis works with. */
interface ScenarioContext {
  readonly redis: TestRedis
  readonly bed: Testbed
  readonly random: Random
}

/** Starts a scenario, which returns what one round does, and audits after the last round. */
function onRedis(begin: (context: ScenarioContext) => () => Promise<unknown>): Scenario['run'] {
  return async (t, rounds, random) => {
    const { redis, bed } = await openRedisBed(t, acrossMidnight())
    const runRound = begin({ redis, bed, random })
    for (let round = 0; round < rounds; round++) await runRound()
    await delay(2_000)
    return bed.settle()
  }
}

function killIngester({ bed, random }: ScenarioContext) {
  return async () => {
    const ingester = bed.start('a')
    await delay(400 + random() * 2_200)
    await ingester.end('SIGKILL')
  }
}

function killEither({ bed, random }: ScenarioContext) {
  const running: Record<string, Program> = { a: bed.start('a'), b: bed.start('b') }
  return async () => {
    await delay(400 + random() * 2_200)
    const id = random() < 0.5 ? 'a' : 'b'
    await running[id]?.end('SIGKILL')
    running[id] = bed.start(id)
  }
}

function killRedis({ redis, bed, random }: ScenarioContext) {
  bed.start('a')
  return async () => {
    await delay(500 + random() * 3_000)
    await redis.killFor(random() * 2_000)
  }
}

function freezeRedis({ redis, bed, random }: ScenarioContext) {
  bed.start('a')
  return async () => {
    await delay(500 + random() * 2_000)
    await redis.freezeFor(500 + random() * 4_000)
  }
}

/** No process remembers what was cut off, so candles fill it; then Redis reads its file once more. */
function cutFile({ redis, bed, random }: ScenarioContext) {
  bed.start('a')
  return async () => {
    await delay(2_000 + random() * 2_000)
    await bed.killAll()
    const end = bed.minute()
    await redis.stop()
    const folder = join(redis.dir, 'appendonlydir')
    const names = (await readdir(folder)).filter(name => name.endsWith('.incr.aof')).sort()
    const file = join(folder, names.at(-1) ?? '')
    await truncate(file, Math.floor((await stat(file)).size * (0.5 + random() / 2)))
    await redis.restart()
    bed.start('a')
    await bed.untilFilled(end)
    await redis.stop()
    await redis.restart()
  }
}

/** Each time only the server that dies has the newest confirmed minute, and no replica. */
function onGroup(open: (t: Teardown) => Promise<RedisGroup>): Scenario['run'] {
  return async (t, rounds, random) => {
    const group = await open(t)
    const bed = await openTestbed(t, group, acrossMidnight())
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
}

/** Resolves when a minute newer than those of now is in the live list. */
async function minuteConfirmed(primary: RawRedis): Promise<void> {
  const newest = async () => {
    const rows = await primary.hvals('{kp}:live')
    return Math.max(0, ...rows.map(row => Date.parse(`${JSON.parse(row).snapshot_at}Z`)))
  }
  const before = await newest()
  await eventually('a minute is confirmed', async () => (await newest()) > before)
}

/** By ±90 s and +1 h of the testbed's clock, and back. */
async function stepClock(t: Teardown, rounds: number, random: Random) {
  const { redis, bed } = await openRedisBed(t, acrossMidnight())
  const stepped = await openSteppedClock(redis.dir)
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

function stayAway({ bed, random }: ScenarioContext) {
  return async () => {
    bed.start('a')
    await delay(3_000 + random() * 6_000)
    await bed.killAll()
    bed.clock.jump(3 * HOUR_MS)
  }
}
