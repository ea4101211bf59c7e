import { type Clock, type Coin, LatestTicks, type Milliseconds, type Sample } from '@kimchi/core'
import { createDoors, RestClient } from '@kimchi/feeds'
import { createSimulator, type SimulatedCoin } from '@kimchi/simulator'
import { createMemoryLog, MEMORY_URLS, networkOf, sampleProblem, untilIdle } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import type { Test } from 'tap'
import { doorSettings, readConfig } from '../../src/config.ts'
import { ExchangeFeeds } from '../../src/minute/exchange-feeds.ts'
import { MinuteLoop, type MinuteReport } from '../../src/minute/minute-loop.ts'
import { coinOf, inFewFrames } from './market.ts'

/** Well below the time by which frames overtake each other, and below a silence. */
const STEP_MS = 400
/** KNC trades every twenty minutes on Upbit, the others often. */
const SYMBOLS = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT', 'KNC']
const COINS = SYMBOLS.map(coinOf)
const SIMULATED = inFewFrames([...SYMBOLS, 'USDT'])

/** The coins that are sampled, and those of the exchanges. @default eleven, of which KNC is a quiet one */
interface BenchOptions {
  readonly coins?: readonly Coin[]
  readonly simulated?: readonly SimulatedCoin[]
}

/** Real feeds on a real simulator, and the real loop, on a clock that the test turns; `setOurs` makes our wall clock wrong. */
export async function openMinuteBench(t: Test, { coins = COINS, simulated = SIMULATED }: BenchOptions = {}) {
  const clock = createManualClock(Date.UTC(2026, 10, 20, 12, 0, 30))
  const simulator = createSimulator({ coins: simulated, clock, limits: false })
  const { openSocket, fetch } = networkOf(simulator)
  const ending = new AbortController()
  let aheadMs = 0
  const ours: Clock = {
    now: () => clock.now() + aheadMs,
    elapsed: () => clock.elapsed(),
    wait: (ms, signal) => clock.wait(ms, signal),
  }
  const context = { clock: ours, random: () => 0.5, log: createMemoryLog(), signal: ending.signal }
  const latest = new LatestTicks()
  const settings = { ...doorSettings(readConfig(MEMORY_URLS), '1.2.3'), openSocket, fetch }
  const doors = createDoors(settings, context)
  const feeds = new ExchangeFeeds(
    { latest, doors, rest: new RestClient(doors), onRefused: () => {} },
    context,
  )
  const samples: Sample[] = []
  const reports: MinuteReport[] = []
  const loop = new MinuteLoop(
    {
      latest,
      quarantine: { subscribed: coins, judgeMinute: sampled => sampled },
      queue: { enqueue: batch => samples.push(...batch.samples) },
      onMinute: report => reports.push(report),
    },
    context,
  )
  const running = loop.run()
  t.teardown(async () => {
    ending.abort()
    const closing = Promise.all([running, feeds.close()])
    await clock.advance(1_000)
    await closing
  })
  const step = async (ms: number) => {
    await clock.advance(ms)
    simulator.pump()
    await untilIdle()
  }
  const passTo = async (at: number) => {
    while (clock.now() < at) await step(Math.min(STEP_MS, at - clock.now()))
  }
  feeds.setCoins(coins)
  await untilIdle()
  /** Samples that differ from what the exchange itself last sent, or would have sent, before their minute. */
  const wrong = () => samples.filter(sample => sampleProblem(sample, simulator) !== undefined)
  const setOurs = (ms: Milliseconds) => {
    aheadMs = ms
  }
  return { clock, simulator, samples, reports, passTo, wrong, setOurs }
}
