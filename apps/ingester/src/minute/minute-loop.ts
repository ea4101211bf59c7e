import {
  type Clock,
  type Coin,
  type EpochMinute,
  type Gap,
  type LatestTicks,
  type Milliseconds,
  type Sample,
  type Snapshot,
  type SpikeFilter,
  takeSnapshot,
} from '@kimchi/core'
import { type MinuteTurn, minuteTurns } from './minute-turns.ts'

/** A snapshot taken later than this after its due time can't be trusted to have seen every frame. */
const MAX_LATE_MS: Milliseconds = 5_000

/** A wall clock that moved this far within a minute has put ticks or the snapshot into the wrong one; a stalled loop looks the same. */
const MAX_JUMP_MS: Milliseconds = 2_000

/** What became of one minute. */
export interface MinuteReport {
  readonly turn: MinuteTurn
  readonly gaps: readonly Gap[]
  /** Handed to the store: this minute's samples and confirmed ones of the minute before. */
  readonly admitted: readonly Sample[]
  /** Turned away by the spikeFilter rule; left to backfill. */
  readonly dropped: readonly Sample[]
  readonly waiting: readonly Sample[]
}

/** What the loop needs; the arrows of design §1 from ticks to the write. */
export interface IngestOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly latest: LatestTicks
  readonly spikeFilter: SpikeFilter
  /** The coins to sample at this moment. */
  readonly coins: () => readonly Coin[]
  /** Keeps back what must not be stored, before the spikeFilter rule sees it. @default lets everything pass */
  readonly judge?: (minute: EpochMinute, samples: readonly Sample[]) => readonly Sample[]
  /** Takes one minute's outcome: admitted samples to store, and symbols that leave the live list. */
  readonly store: (minute: number, samples: readonly Sample[], removed: readonly string[]) => void
  readonly onMinute: (report: MinuteReport) => void
}

/** The one loop: at each minute turn a snapshot, the spikeFilter rule, and a hand-over to the store. Ends when `signal` aborts. */
export async function ingest({
  clock,
  signal,
  latest,
  spikeFilter,
  coins,
  judge = (_minute, samples) => samples,
  store,
  onMinute,
}: IngestOptions): Promise<void> {
  for await (const turn of minuteTurns(clock, signal)) {
    const tracked = coins()
    const isLate = turn.lateMs > MAX_LATE_MS || turn.jumpedMs > MAX_JUMP_MS
    const { samples, gaps } = isLate
      ? lateSnapshot(turn, tracked)
      : takeSnapshot(latest, turn.minute, tracked)
    const { admitted, dropped, waiting } = spikeFilter.check(turn.minute, judge(turn.minute, samples))
    const halted = gaps.filter(gap => gap.reason === 'halted').map(gap => gap.symbol)
    if (admitted.length > 0 || halted.length > 0) store(turn.minute, admitted, halted)
    onMinute({ turn, gaps, admitted, dropped, waiting })
  }
}

function lateSnapshot({ minute }: MinuteTurn, coins: readonly Coin[]): Snapshot {
  return { minute, samples: [], gaps: coins.map(({ symbol }) => ({ symbol, minute, reason: 'late' })) }
}
