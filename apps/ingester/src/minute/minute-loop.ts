import { type Context, type Gap, type LatestTicks, type Sample, takeSnapshot } from '@kimchi/core'
import { Histogram } from '@kimchi/runtime'
import type { MinuteQueue, SettledMinute } from '@kimchi/store'
import type { Quarantine } from '../coins/quarantine.ts'
import { type MinuteTurn, minuteTurns } from './minute-turns.ts'

/** What has become of a minute. */
export interface MinuteReport extends MinuteTurn {
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

/** At each minute turn: snapshot → quarantine → enqueue. */
export class MinuteLoop {
  readonly #options: MinuteLoopOptions
  readonly #context: Omit<Context, 'random'>
  readonly #gaps: Record<string, number> = {}
  readonly #waits = new Histogram(
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
    for await (const turn of minuteTurns(latest, this.#context)) {
      const report = this.#sample(turn)
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

  #sample(turn: MinuteTurn): MinuteReport {
    const { latest, quarantine, queue } = this.#options
    const { minute } = turn
    const { samples: taken, gaps } = takeSnapshot(latest, minute, quarantine.subscribed)
    const samples = quarantine.judgeMinute(taken)
    const settled = gaps.filter((gap): gap is SettledMinute => gap.reason === 'halted')
    const isHalt = ({ reason }: Gap) => reason === 'halted' || reason === 'halting'
    const halted = gaps.filter(isHalt).map(({ symbol }) => symbol)
    if (samples.length > 0 || halted.length > 0) queue.enqueue({ minute, samples, settled, halted })
    return { ...turn, samples, gaps }
  }

  #note(report: MinuteReport): void {
    const { minute, lateMs, gaps } = report
    this.#last = report
    this.#waits.labelled({}).observe(lateMs / 1_000)
    countReasons(gaps, this.#gaps)
    const samples = report.samples.length
    this.#context.log.info({ minute, samples, gaps: gaps.length, ...countReasons(gaps), lateMs }, 'minute')
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
