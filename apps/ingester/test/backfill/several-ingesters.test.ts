import { syntheticCoins } from '@kimchi/simulator'
import { passUntil, responseOf } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { BLOCK_MINUTES } from '../../src/backfill/candle-block-cache.ts'
import { COINS_AT_ONCE } from '../../src/backfill/run-backfill.ts'
import { openBench, openExchanges, type RunningBackfill, YESTERDAY } from '../support/backfill-bench.ts'
import { coinOf, withTrades } from '../support/market.ts'

const MINUTES = 300
const SIMULATED = syntheticCoins(23, 5).map(coin => withTrades(coin, usual => Math.min(10, usual)))
const COINS = SIMULATED.filter(({ id }) => id !== 'USDT').map(({ id }) => coinOf(id))
const RIGHT = { lost: 0, doubled: 0, wrong: 0 }

/** What docker-compose.yml sets for each of two ingesters on one address. */
const upbitPerSecond = 4

/** Blocks of 200 minutes that yesterday's minutes lie in: one more on some days than on others. */
const BLOCKS =
  Math.ceil((YESTERDAY + MINUTES) / BLOCK_MINUTES.upbit) - Math.floor(YESTERDAY / BLOCK_MINUTES.upbit)

/** Pages of each coin and KRW-USDT that one ingester would fetch alone. */
const PAGES = (COINS.length + 1) * BLOCKS
/** With a fifth for what is asked first, and twice. */
const SECONDS_ALONE = (1.2 * PAGES) / upbitPerSecond

const exchanges = await openExchanges(t, { coins: SIMULATED })
const { requestsFor } = exchanges

/** As Math.random, but the same in each run. */
function chanceOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 16_807) % 2_147_483_647
    return state / 2_147_483_647
  }
}

/** Two ingesters on one Redis that are started together. */
async function openTwo(test: Test) {
  const bench = await openBench(test, exchanges, { at: MINUTES })
  const { clock, isWhole } = bench
  const startedAt = clock.now()
  /** Seconds since the start. */
  const passed = () => (clock.now() - startedAt) / 1_000
  const start = (seed: number, options: Parameters<typeof bench.start>[1] = {}, coins = COINS) =>
    bench.start(coins, { upbitPerSecond, random: chanceOf(seed), ...options })
  /** @returns seconds since the start */
  const untilWhole = async () => {
    await passUntil(clock, 'all is filled', isWhole(COINS), 250)
    return passed()
  }
  return { ...bench, start, passed, untilWhole }
}

const storedBy = (ingesters: readonly RunningBackfill[]) => ingesters.map(({ status }) => status().stored)

t.test('two ingesters share the work without a word, in little more than half the time of one', async t => {
  const { start, untilWhole, check } = await openTwo(t)
  const both = [start(11), start(47)]
  const seconds = await untilWhole()
  const asked = requestsFor('upbit').length
  const [less = 0, more = 0] = storedBy(both).sort((a, b) => a - b)
  t.comment(`${seconds} s, ${asked} requests to Upbit; stored: ${less}, ${more}`)
  t.ok(seconds <= 0.7 * SECONDS_ALONE, `${seconds} s`)
  t.ok(asked <= 1.35 * PAGES, `${asked} requests`)
  t.ok(less > more / 2, `${less} and ${more} stored`)
  t.match(await check(COINS, MINUTES - 3), RIGHT)
})

// docs/faults.md, 46
t.test('ingesters of different lists fill the union, each its own', async t => {
  const { start, untilWhole, check } = await openTwo(t)
  start(11, {}, COINS.slice(0, 16))
  start(47, {}, COINS.slice(8))
  const seconds = await untilWhole()
  t.ok(seconds <= SECONDS_ALONE, `${seconds} s`)
  t.match(await check(COINS, MINUTES - 3), RIGHT)
})

// docs/faults.md, 79
t.test('an ingester that Upbit has banned does nothing, and hinders nobody', async t => {
  const { start, untilWhole, check, clock, passed } = await openTwo(t)
  let isBanned = false
  const first = start(11, {
    fetch: async (...request) =>
      isBanned && String(request[0]).startsWith('http://upbit')
        ? responseOf({ status: 418, headers: { 'retry-after': '259200' }, text: '{}' })
        : exchanges.fetch(...request),
  })
  start(47)
  await passUntil(clock, 'it has begun', () => first.status().stored > 0)
  isBanned = true
  const bannedAt = passed()
  await passUntil(clock, 'it knows', () => first.doors.upbit.status().rest.held !== undefined)
  const { stored } = first.status()
  const seconds = await untilWhole()
  t.ok(seconds - bannedAt <= SECONDS_ALONE, `${seconds} s`)
  t.ok(first.status().stored <= stored + MINUTES, 'only what it had fetched')
  t.match(await check(COINS, MINUTES - 3), RIGHT)
})

// docs/faults.md, 79
t.test('an ingester whose clock is wrong leaves the work to the other', async t => {
  const { start, untilWhole, check } = await openTwo(t)
  const first = start(11)
  start(47)
  first.noteMinute({ minute: YESTERDAY + MINUTES, gaps: [{ reason: 'clock-skew' }] })
  const seconds = await untilWhole()
  t.ok(seconds <= SECONDS_ALONE, `${seconds} s`)
  t.ok(first.status().stored <= COINS_AT_ONCE * 200, 'no more than it had begun')
  t.match(await check(COINS, MINUTES - 3), RIGHT)
})
