import {
  type Clock,
  type Coin,
  type EpochMinute,
  type Milliseconds,
  messageOf,
  type Sample,
} from '@kimchi/core'
import { retryDelay } from '@kimchi/feeds'
import type { Logger } from '@kimchi/runtime'
import type { Lease, MinuteRange, SampleReader } from '@kimchi/store'
import { giveBack } from './backfill-lease.ts'
import type { FetchCandles } from './candle-cache.ts'
import {
  type FillOptions,
  type FillProgress,
  fillMissing,
  fillNewestMinute,
  findNewestMinute,
  LIVE_MINUTES,
} from './fill-missing.ts'
import { type Drift, reconcile } from './reconcile.ts'

/** Time between two looks for missing minutes. */
const PASS_EVERY_MS: Milliseconds = 180_000

/**
 * The lease is prolonged, or asked for, this often: it stays with one ingester for as long as that one lives, so that what
 * it has learnt is learnt once, and another takes over soon after its end.
 */
const CLAIM_EVERY_MS: Milliseconds = 20_000

/** Live samples are compared with candles over the time of a few passes, so that none is left out. */
const RECONCILED_MINUTES = 10

/** What backfill has done so far, for `/metrics` and the status hash. */
export interface BackfillState {
  passes: number
  samples: number
  gaps: number
  /** The pass under way, or the last one. */
  progress: FillProgress | undefined
  drift: Drift | undefined
  problem: string | undefined
}

/** What backfill works with. */
export interface BackfillOptions {
  /** The tracked coins at this moment; empty until the catalogue is known. */
  readonly coins: () => readonly Coin[]
  /** Coins of which only the newest minute is fetched, for `judge` to compare them with the others. @default none */
  readonly untested?: () => readonly Coin[]
  /** Lets samples of the newest minute pass that may be stored. @default lets everything pass */
  readonly judge?: (minute: EpochMinute, samples: readonly Sample[]) => readonly Sample[]
  /** Whole UTC days before today that are kept without holes. */
  readonly days: number
  readonly state: BackfillState
  readonly reader: Pick<SampleReader, 'readMissing' | 'readSamples'>
  readonly fetchCandles: FetchCandles
  /** Stores samples; without any it only makes sure that Redis takes them from us. */
  readonly write: (samples: readonly Sample[]) => Promise<void>
  /** Keeps several ingesters from fetching the same candles. */
  readonly lease: Lease
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal
  readonly log: Logger
}

/** A state with nothing done yet. */
export function newBackfillState(): BackfillState {
  return { passes: 0, samples: 0, gaps: 0, progress: undefined, drift: undefined, problem: undefined }
}

/**
 * Fills the minutes that are missing since 00:00 UTC of today − `days` from candles, at start and every few minutes until
 * `signal` aborts; whatever fails is tried again. @see design §5
 */
export async function runBackfill(options: BackfillOptions): Promise<void> {
  const { coins, untested = () => [], state, lease, clock, random, signal, log } = options
  const settled = new Map<string, readonly MinuteRange[]>()
  let failures = 0
  let restedMs = PASS_EVERY_MS
  while (!signal.aborted) {
    const isStarted = coins().length + untested().length > 0
    try {
      if (isStarted && (await lease.claim()) && restedMs >= PASS_EVERY_MS && (await pass(options, settled))) {
        state.passes += 1
        state.problem = undefined
        failures = 0
        restedMs = 0
      }
      const waitMs = isStarted ? CLAIM_EVERY_MS : 100
      await clock.wait(waitMs, signal)
      restedMs += waitMs
    } catch (thrown) {
      if (signal.aborted) break
      state.problem = messageOf(thrown)
      const delayMs = retryDelay(failures++, random, thrown)
      log.warn({ err: thrown, delayMs: Math.round(delayMs) }, 'backfill is held up, will go on')
      await clock.wait(delayMs, signal)
    }
  }
  await giveBack(lease, options)
}

/** What is written here may be the first that is known of a coin, so it is judged as a live minute is. */
async function fillNewest(
  { coins, untested = () => [], judge = (_minute, samples) => samples }: BackfillOptions,
  work: Omit<FillOptions, 'coins'>,
): Promise<void> {
  await fillNewestMinute({
    ...work,
    coins: [...coins(), ...untested()],
    write: async samples => {
      const passed = judge(samples[0]?.minute ?? 0, samples)
      if (passed.length > 0) await work.write(passed)
    },
  })
}

/** Whether it got to its end; false when the lease was lost on the way. */
async function pass(
  options: BackfillOptions,
  settled: Map<string, readonly MinuteRange[]>,
): Promise<boolean> {
  const { days, state, reader, fetchCandles, write, lease, clock, signal, log } = options
  // Loads the function library where it is missing; and a Redis that refuses us is known before anything is fetched.
  await write([])
  const mayGoOn = async () => !signal.aborted && (await lease.claim())
  const newest = await findNewestMinute(clock, fetchCandles)
  const work = { newest, reader, fetchCandles, write, mayGoOn }
  if (state.passes === 0) await fillNewest(options, work)
  const shared = { ...work, coins: options.coins() }
  const before = { samples: state.samples, gaps: state.gaps }
  const isWhole = await fillMissing({
    ...shared,
    days,
    settled,
    onProgress: progress => {
      state.progress = progress
      state.samples = before.samples + progress.samples
      state.gaps = before.gaps + progress.gaps
      const { symbol, done, total, samples, gaps } = progress
      log.info({ symbol, percent: Math.floor((100 * done) / total), samples, gaps }, 'backfill')
    },
  })
  if (!isWhole) return false
  const end = newest - LIVE_MINUTES + 1
  state.drift = await reconcile({ ...shared, range: { start: end - RECONCILED_MINUTES, end } })
  return true
}
