import { type Coin, DAY_MINUTES, dayStart, type EpochMinute, minuteOf, minuteStart } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import { openRestChild } from '@kimchi/feeds'
import { createLogger } from '@kimchi/runtime'
import { startSimulator } from '@kimchi/simulator'
import { createReader, createWriter, openLease, openRedis } from '@kimchi/store'
import { startRedis, type TestRedis } from '@kimchi/testkit'
import type { Test } from 'tap'
import { type BackfillOptions, type BackfillStatus, createBackfill } from '../../src/backfill/run-backfill.ts'
import { openRestGate } from './rest-gate.ts'

/** 00:00 UTC of yesterday: a day that is over, and well inside the retention by Redis' own clock. */
export const YESTERDAY: EpochMinute = dayStart(minuteOf(Date.now())) - DAY_MINUTES

export const silent = createLogger('test', 'silent')

export const BTC: Coin = { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }
export const ETH: Coin = { symbol: 'ETH', name: 'Ethereum', upbit: 'KRW-ETH', binance: 'ETHUSDT' }
/** Trades every twenty minutes on Upbit. */
export const KNC: Coin = { symbol: 'KNC', name: 'Kyber Network', upbit: 'KRW-KNC', binance: 'KNCUSDT' }
/** Trades every forty minutes on Upbit: sometimes nothing can be carried. */
export const IQ: Coin = { symbol: 'IQ', name: 'IQ', upbit: 'KRW-IQ', binance: 'IQUSDT' }

/** What a bench is made of. */
export interface BenchOptions {
  /** Minutes into yesterday at which the ingester's clock stands. @default 360 */
  readonly at?: EpochMinute
  readonly redis?: TestRedis
}

/** A backfill that runs. */
export interface RunningBackfill {
  status(): BackfillStatus
  /** Ends it and waits until it has ended. */
  stop(): Promise<void>
}

/** A real simulator with its limits and a real REST child, for all tests of a file. */
export async function openVenues(t: Test) {
  const simulator = await startSimulator({ pumpMs: 0 })
  t.teardown(() => simulator.close())
  const gate = await openRestGate(t, simulator)
  const entry = new URL('../../../../packages/feeds/dist/rest/child.js', import.meta.url)
  const rest = openRestChild({ upbitRestUrl: gate.url, binanceRestUrl: gate.url, entry }, { log: silent })
  t.teardown(() => rest.close())
  return { simulator, gate, rest }
}

/** A real Redis, and a clock that the test turns, before those venues. */
export async function openBench(
  t: Test,
  { gate, rest }: Awaited<ReturnType<typeof openVenues>>,
  { at = 360, redis: given }: BenchOptions = {},
) {
  gate.requests.length = 0
  gate.outages = []
  gate.missing = []
  gate.intercept = () => undefined
  const testRedis = given ?? (await startRedis(t))
  const redis = openRedis(testRedis.url, { name: 'test' })
  t.teardown(() => redis.close())
  await redis.untilReady(5_000)
  const writer = createWriter({ redis, prices: 'simulated', retentionDays: 8, log: silent })
  const reader = createReader({ redis })
  const clock = createManualClock(minuteStart(YESTERDAY + at) + 30_000)
  await writer.track([BTC, ETH])

  /** Starts a backfill as an ingester does; ended with the test. */
  const start = (coins: readonly Coin[], changes: Partial<BackfillOptions> & { id?: string } = {}) => {
    const ending = new AbortController()
    const backfill = createBackfill(
      {
        quarantine: { tracked: coins, untested: [], check: (_minute, samples) => samples },
        tracking: { apply: () => {} },
        days: 0,
        reader,
        fetchCandles: (exchange, market, { start, end }) =>
          rest.minuteCandles(exchange, market, start, end, ending.signal),
        write: async samples => {
          await writer.write({ minute: Math.max(...samples.map(sample => sample.minute)), samples })
        },
        lease: openLease(redis, 'backfill', changes.id ?? 'a', 60_000),
        ...changes,
      },
      { clock, random: () => 0.5, signal: ending.signal, log: silent },
    )
    const running = backfill.run()
    const stop = async () => {
      ending.abort()
      await running
    }
    t.teardown(stop)
    return { status: backfill.status, stop } satisfies RunningBackfill
  }
  return { testRedis, redis, writer, reader, clock, start }
}
