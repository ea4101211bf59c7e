import {
  type Context,
  type EpochMinute,
  type EpochMs,
  type Gap,
  type KnownBefore,
  type LatestTicks,
  MINUTE_MS,
  type Milliseconds,
  minuteOf,
  minuteStart,
  type Sample,
  takeSnapshot,
} from '@kimchi/core'
import { createHistogram } from '@kimchi/runtime'
import type { MinuteQueue, SettledMinute } from '@kimchi/store'
import type { Quarantine } from '../coins/quarantine.ts'

/** How long after M its snapshot is taken at the earliest: frames from before M may still arrive. */
const EARLIEST_SNAPSHOT_MS: Milliseconds = 2_000

/** How long after M the exchanges' streams may take to pass it. */
const LATEST_SNAPSHOT_MS: Milliseconds = 5_000

/** How often we look meanwhile whether they have. */
const LOOK_EVERY_MS: Milliseconds = 50

/** Longest uninterrupted wait, so that a stepped wall clock is noticed within a second. */
const LONGEST_WAIT_MS: Milliseconds = 1_000

/** What has become of a minute. */
export interface MinuteReport {
  readonly minute: EpochMinute
  /** How much later than M + 2 s its turn was. */
  readonly lateMs: Milliseconds
  /** Those that may be stored. */
  readonly samples: readonly Sample[]
  readonly gaps: readonly Gap[]
}

export interface MinuteLoopOptions {
  readonly latest: LatestTicks
  /** Has the coins to sample, and picks the samples that may be stored. */
  readonly quarantine: Pick<Quarantine, 'subscribed' | 'judgeMinute'>
  readonly queue: Pick<MinuteQueue, 'enqueue'>
  readonly onMinute: (report: MinuteReport) => void
}

/** Counters start at 0 with the process. */
export type MinuteStatus = ReturnType<MinuteLoop['status']>

/** At each minute's turn: snapshot → quarantine → enqueue. */
export class MinuteLoop {
  readonly #options: MinuteLoopOptions
  readonly #context: Omit<Context, 'random'>
  readonly #gaps: Record<string, number> = {}
  readonly #waits = createHistogram(
    'kimchi_ingester_watermark_wait_seconds',
    'Delay beyond M + 2 s before the snapshot of minute M was taken, while a stream had not passed M.',
  )
  #last: MinuteReport | undefined

  constructor(options: MinuteLoopOptions, context: Omit<Context, 'random'>) {
    this.#options = options
    this.#context = context
  }

  /** Samples each minute until the signal aborts. */
  async run(): Promise<void> {
    const { latest, onMinute } = this.#options
    for await (const known of minuteTurns(latest, this.#context)) {
      const report = this.#sample(known)
      this.#note(report)
      onMinute(report)
    }
  }

  status() {
    return {
      last: this.#last,
      /** Coin minutes without a sample, by reason. */
      gaps: this.#gaps,
      /** How long after M + 2 s snapshots were taken. */
      waits: this.#waits,
    }
  }

  #sample(known: KnownBefore): MinuteReport {
    const { quarantine, queue } = this.#options
    const { minute } = known
    const lateMs = this.#context.clock.now() - dueAt(minute)
    const { samples: taken, gaps } = takeSnapshot(known, quarantine.subscribed)
    const samples = quarantine.judgeMinute(taken)
    const settled = gaps.filter((gap): gap is SettledMinute => gap.reason === 'halted')
    const isHalt = ({ reason }: Gap) => reason === 'halted' || reason === 'halting'
    const halted = gaps.filter(isHalt).map(({ symbol }) => symbol)
    if (samples.length > 0 || halted.length > 0) queue.enqueue({ minute, samples, settled, halted })
    return { minute, lateMs, samples, gaps }
  }

  #note(report: MinuteReport): void {
    const { minute, lateMs, gaps } = report
    this.#last = report
    this.#waits.observe(lateMs / 1_000)
    countReasons(gaps, this.#gaps)
    const samples = report.samples.length
    this.#context.log.info({ minute, samples, gaps: gaps.length, ...countReasons(gaps), lateMs }, 'minute')
  }
}

/** When the snapshot of a minute is due. */
function dueAt(minute: EpochMinute): EpochMs {
  return minuteStart(minute) + EARLIEST_SNAPSHOT_MS
}

/**
 * Yields what is known before each minute M, from M + 2 s of the wall clock as soon as the streams have passed it, by
 * M + 5 s whether they have or not. After a pause of minutes it yields the newest alone; after a step back of the clock
 * it goes on with the clock's minutes. Ends when `signal` aborts.
 */
export async function* minuteTurns(
  latest: Pick<LatestTicks, 'before'>,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): AsyncGenerator<KnownBefore, void, void> {
  const lastDue = () => minuteOf(clock.now() - EARLIEST_SNAPSHOT_MS)
  let last = lastDue()
  while (!signal.aborted) {
    const waitMs = dueAt(last + 1) - clock.now()
    const hasSteppedBack = waitMs > MINUTE_MS
    if (hasSteppedBack) last = lastDue()
    if (waitMs > 0) {
      await clock.wait(Math.min(waitMs, LONGEST_WAIT_MS), signal)
      continue
    }
    last = lastDue()
    const giveUpAt = clock.elapsed() + LATEST_SNAPSHOT_MS - EARLIEST_SNAPSHOT_MS
    let known = latest.before(last)
    while (!known.hasPassed && clock.elapsed() < giveUpAt && !signal.aborted) {
      await clock.wait(LOOK_EVERY_MS, signal)
      known = latest.before(last)
    }
    if (!signal.aborted) yield known
  }
}

/** Adds how many have each reason. */
export function countReasons(
  gaps: readonly { readonly reason: string }[],
  counts: Record<string, number> = {},
): Readonly<Record<string, number>> {
  for (const { reason } of gaps) counts[reason] = (counts[reason] ?? 0) + 1
  return counts
}
