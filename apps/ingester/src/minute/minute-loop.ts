import {
  type Coin,
  type Context,
  type Gap,
  type LatestTicks,
  type Milliseconds,
  type Sample,
  type Snapshot,
  type SpikeFilter,
  takeSnapshot,
} from '@kimchi/core'
import { Histogram } from '@kimchi/runtime'
import type { MinuteQueue, SettledMinute } from '@kimchi/store'
import type { Quarantine } from '../coins/quarantine.ts'
import { type MinuteTurn, minuteTurns } from './minute-turns.ts'

/**
 * How late after M + 2 s a snapshot may be: streams have until M + 5 s to pass M, and a pause of this process that
 * is too short to count as a silence may follow.
 */
const MAX_LATE_MS: Milliseconds = 6_000

/** When the wall clock steps this far within a minute, ticks or the snapshot have wrong times. */
const MAX_STEP_MS: Milliseconds = 2_000

/** What became of one minute. */
export interface MinuteReport {
  readonly turn: MinuteTurn
  readonly gaps: readonly Gap[]
  /** To be stored: this minute's samples, and those of the minute before that it confirms. */
  readonly accepted: readonly Sample[]
  /** Dropped by the spike filter; backfill decides their minutes. */
  readonly dropped: readonly Sample[]
  readonly waiting: readonly Sample[]
}

export interface MinuteLoopOptions {
  readonly latest: LatestTicks
  /** The coins to sample. */
  readonly quarantine: Pick<Quarantine, 'subscribed'>
  /** Which samples may be published; their coins' names are announced then. */
  readonly release: (samples: readonly Sample[]) => readonly Sample[]
  readonly spikeFilter: SpikeFilter
  readonly queue: Pick<MinuteQueue, 'enqueue'>
  readonly onMinute: (report: MinuteReport) => void
}

/** The loop's status. Counters run since the start. */
export interface MinuteStatus {
  readonly last: MinuteReport | undefined
  readonly accepted: number
  readonly dropped: number
  /** Minutes skipped because the machine slept, stalled or its clock stepped. */
  readonly skipped: number
  /** Coin minutes without a sample, by reason. */
  readonly gaps: ReadonlyMap<string, number>
  /** How long after M + 2 s snapshots were taken. */
  readonly waits: Histogram
}

/**
 * The one loop of an ingester: at each minute turn snapshot → release from quarantine → spike filter → enqueue.
 */
export class MinuteLoop {
  readonly #options: MinuteLoopOptions
  readonly #context: Pick<Context, 'clock' | 'signal'>
  readonly #gaps = new Map<string, number>()
  readonly #waits = new Histogram(
    'kimchi_ingester_watermark_wait_seconds',
    'Delay beyond M + 2 s before the snapshot of minute M was taken, while a stream had not passed M.',
  )
  #last: MinuteReport | undefined
  #accepted = 0
  #dropped = 0
  #skipped = 0

  constructor(options: MinuteLoopOptions, context: Pick<Context, 'clock' | 'signal'>) {
    this.#options = options
    this.#context = context
  }

  /** Samples each minute until the signal aborts. */
  async run(): Promise<void> {
    const { latest, onMinute } = this.#options
    for await (const turn of minuteTurns(minute => latest.untilPassed(minute), this.#context)) {
      const report = this.#sample(turn)
      this.#count(report)
      onMinute(report)
    }
  }

  status(): MinuteStatus {
    return {
      last: this.#last,
      accepted: this.#accepted,
      dropped: this.#dropped,
      skipped: this.#skipped,
      gaps: this.#gaps,
      waits: this.#waits,
    }
  }

  #sample(turn: MinuteTurn): MinuteReport {
    const { latest, quarantine, release, spikeFilter, queue } = this.#options
    const { minute } = turn
    const { samples, gaps } = snapshotOf(latest, turn, quarantine.subscribed)
    const { accepted, dropped, waiting } = spikeFilter.check(minute, release(samples))
    const settled = gaps.filter(isHalted)
    const isHalt = ({ reason }: Gap) => reason === 'halted' || reason === 'halting'
    const halted = gaps.filter(isHalt).map(({ symbol }) => symbol)
    if (accepted.length > 0 || halted.length > 0) {
      queue.enqueue({ minute, samples: accepted, settled, halted })
    }
    return { turn, gaps, accepted, dropped, waiting }
  }

  #count(report: MinuteReport): void {
    this.#last = report
    this.#accepted += report.accepted.length
    this.#dropped += report.dropped.length
    this.#skipped += report.turn.skipped
    this.#waits.labelled('').observe(report.turn.lateMs / 1_000)
    countReasons(report.gaps, this.#gaps)
  }
}

/** Adds how many gaps have each reason. */
export function countReasons(gaps: readonly Gap[], counts = new Map<string, number>()): Map<string, number> {
  for (const { reason } of gaps) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return counts
}

function isHalted(gap: Gap): gap is SettledMinute {
  return gap.reason === 'halted'
}

function snapshotOf(latest: LatestTicks, turn: MinuteTurn, coins: readonly Coin[]): Snapshot {
  const { minute, lateMs, steppedMs } = turn
  const isLate = lateMs > MAX_LATE_MS || steppedMs > MAX_STEP_MS
  return isLate ? takeSnapshot(latest, minute, coins, 'late') : takeSnapshot(latest, minute, coins)
}
