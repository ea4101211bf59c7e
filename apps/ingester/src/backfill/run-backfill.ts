import { type Context, type Milliseconds, messageOf, type Sample } from '@kimchi/core'
import { retryDelay } from '@kimchi/feeds'
import type { Lease, MinuteRange, SampleReader } from '@kimchi/store'
import type { Quarantine } from '../coins/quarantine.ts'
import type { CoinTracking } from '../coins/track-coins.ts'
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

/** What backfill says of itself. Counters run since the start. */
export interface BackfillStatus {
  readonly passes: number
  readonly samples: number
  readonly gaps: number
  /** The pass under way, or the last one. */
  readonly progress: FillProgress | undefined
  readonly drift: Drift | undefined
  readonly problem: string | undefined
}

/** What backfill works with. */
export interface BackfillOptions {
  /** The coins to fill; those of a first start are compared with the others before anything of them is stored. */
  readonly quarantine: Pick<Quarantine, 'tracked' | 'untested' | 'check'>
  readonly tracking: Pick<CoinTracking, 'apply'>
  /** Whole UTC days before today that are kept without holes. */
  readonly days: number
  readonly reader: Pick<SampleReader, 'readMissing' | 'readSamples'>
  readonly fetchCandles: FetchCandles
  /** Stores samples; without any it only makes sure that Redis takes them from us. */
  readonly write: (samples: readonly Sample[]) => Promise<void>
  /** Keeps several ingesters from fetching the same candles. */
  readonly lease: Lease
}

/** Fills holes from candles, for as long as an ingester lives. */
export interface Backfill {
  /** Works until the signal aborts; whatever fails is tried again. */
  run(): Promise<void>
  status(): BackfillStatus
}

type State = { -readonly [K in keyof BackfillStatus]: BackfillStatus[K] }

/** A {@link Backfill} of the minutes that are missing since 00:00 UTC of today − `days`. @see docs/architecture.md#ingester */
export function createBackfill(options: BackfillOptions, context: Context): Backfill {
  const state: State = {
    passes: 0,
    samples: 0,
    gaps: 0,
    progress: undefined,
    drift: undefined,
    problem: undefined,
  }
  return { run: () => runBackfill(options, context, state), status: () => state }
}

async function runBackfill(options: BackfillOptions, context: Context, state: State): Promise<void> {
  const { quarantine, lease } = options
  const { clock, random, signal, log } = context
  const settled = new Map<string, readonly MinuteRange[]>()
  let failures = 0
  let restedMs = PASS_EVERY_MS
  while (!signal.aborted) {
    const isStarted = quarantine.tracked.length + quarantine.untested.length > 0
    try {
      const isDue = isStarted && (await lease.claim()) && restedMs >= PASS_EVERY_MS
      if (isDue && (await pass(options, context, state, settled))) {
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
  await giveBack(lease, context)
}

/** What is written here may be the first that is known of a coin, so it goes through the quarantine as a live minute does. */
async function fillNewest(
  { quarantine, tracking }: BackfillOptions,
  work: Omit<FillOptions, 'coins'>,
): Promise<void> {
  await fillNewestMinute({
    ...work,
    coins: [...quarantine.tracked, ...quarantine.untested],
    write: async samples => {
      const publishable = quarantine.check(samples[0]?.minute ?? 0, samples)
      tracking.apply()
      if (publishable.length > 0) await work.write(publishable)
    },
  })
}

/** Whether it got to its end; false when the lease was lost on the way. */
async function pass(
  options: BackfillOptions,
  { clock, signal, log }: Context,
  state: State,
  settled: Map<string, readonly MinuteRange[]>,
): Promise<boolean> {
  const { quarantine, days, reader, fetchCandles, write, lease } = options
  // Loads the function library where it is missing; and a Redis that refuses us is known before anything is fetched.
  await write([])
  const mayGoOn = async () => !signal.aborted && (await lease.claim())
  const newest = await findNewestMinute(clock, fetchCandles)
  const work = { newest, reader, fetchCandles, write, mayGoOn }
  if (state.passes === 0) await fillNewest(options, work)
  const shared = { ...work, coins: quarantine.tracked }
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
