import { type Coin, type EpochMs, formatTimestamp, type Gap } from '@kimchi/core'
import type { FeedStatus } from '@kimchi/feeds'
import type { MinuteQueue } from '@kimchi/store'
import { type BackfillState, newBackfillState } from './backfill/run-backfill.ts'
import type { HeldPair } from './coins/quarantine.ts'
import type { MinuteReport } from './minute/minute-loop.ts'

/** Everything an ingester knows about itself. Read by `/ready`, `/metrics` and the status hash. */
export interface IngesterState {
  readonly startedAt: EpochMs
  /** Tracked coins; undefined until the catalogue is known. */
  coins: readonly Coin[] | undefined
  /** Pairs of which nothing is published for now. */
  held: readonly HeldPair[]
  /** Coins that were asked for by name and can't be had now, with the reasons. */
  missing: readonly string[]
  catalogueProblem: string | undefined
  lastReport: MinuteReport | undefined
  readonly counts: {
    admitted: number
    dropped: number
    skippedMinutes: number
    refusedTicks: number
    gaps: Map<string, number>
  }
  readonly backfill: BackfillState
  feeds: () => readonly FeedStatus[]
  readonly queue: Pick<MinuteQueue, 'depth' | 'trouble' | 'totals' | 'lastWrittenMinute'>
}

/** A state with nothing done yet. */
export function newState(startedAt: EpochMs, queue: IngesterState['queue']): IngesterState {
  return {
    startedAt,
    coins: undefined,
    held: [],
    missing: [],
    catalogueProblem: undefined,
    lastReport: undefined,
    counts: { admitted: 0, dropped: 0, skippedMinutes: 0, refusedTicks: 0, gaps: new Map() },
    backfill: newBackfillState(),
    feeds: () => [],
    queue,
  }
}

/** Adds one minute's outcome to the counts. */
export function countMinute(state: IngesterState, report: MinuteReport): void {
  state.lastReport = report
  state.counts.admitted += report.admitted.length
  state.counts.dropped += report.dropped.length
  state.counts.skippedMinutes += report.turn.skipped
  for (const { reason } of report.gaps)
    state.counts.gaps.set(reason, (state.counts.gaps.get(reason) ?? 0) + 1)
}

/** Why this ingester does not contribute fully right now, a plain sentence each; empty when it does. */
export function notReadyReasons(state: IngesterState): string[] {
  const { depth, trouble } = state.queue
  const reasons: string[] = []
  if (state.coins === undefined) {
    reasons.push(`market lists not loaded yet${state.catalogueProblem ? `: ${state.catalogueProblem}` : ''}`)
  }
  for (const { exchange, state: feedState, lastError: problem } of state.feeds()) {
    if (feedState !== 'up')
      reasons.push(`${exchange}: no data (${feedState})${problem ? `: ${problem.message}` : ''}`)
  }
  if (trouble !== undefined) reasons.push(`${depth} minutes wait to be written: ${trouble}`)
  if (state.lastReport === undefined) reasons.push('no minute has turned yet')
  else if (state.lastReport.admitted.length === 0 && state.coins?.length !== 0) {
    reasons.push(
      `no sample at ${formatTimestamp(state.lastReport.turn.minute)}: ${summarise(state.lastReport.gaps)}`,
    )
  }
  return reasons
}

/** The status hash of one ingester as readable texts. @see design §4 */
export function statusFields(state: IngesterState, now: EpochMs, version: string): Record<string, string> {
  const { depth, trouble, totals, lastWrittenMinute } = state.queue
  const fields: Record<string, string | number | undefined> = {
    version,
    started_at: new Date(state.startedAt).toISOString(),
    last_minute: state.lastReport && formatTimestamp(state.lastReport.turn.minute),
    coins: state.coins?.length ?? 0,
    held_back: state.held.map(({ symbol, reason }) => `${symbol} (${reason})`).join('; '),
    missing: state.missing.join('; '),
    samples: state.counts.admitted,
    dropped_by_spike_filter: state.counts.dropped,
    skipped_minutes: state.counts.skippedMinutes,
    refused_ticks: state.counts.refusedTicks,
    gaps_last_minute: state.lastReport ? summarise(state.lastReport.gaps) : undefined,
    last_written_minute: lastWrittenMinute && formatTimestamp(lastWrittenMinute),
    queue_depth: depth,
    queue_dropped: totals.dropped,
    stored: totals.stored,
    duplicates: totals.duplicates,
    refused: totals.refused,
    redis_problem: trouble,
    catalogue_problem: state.catalogueProblem,
    ...backfillFields(state.backfill),
  }
  for (const feed of state.feeds()) {
    fields[`${feed.exchange}_state`] = feed.state
    fields[`${feed.exchange}_data_age_ms`] = feed.lastDataAt && now - feed.lastDataAt
    fields[`${feed.exchange}_reconnects`] = feed.reconnects
    fields[`${feed.exchange}_malformed`] = feed.malformed
  }
  for (const [reason, count] of state.counts.gaps) fields[`gaps_${reason}`] = count
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value ?? '')]))
}

function backfillFields({ progress, samples, gaps, drift, problem }: BackfillState) {
  return {
    backfill_progress: progress && `${progress.done} of ${progress.total} minutes`,
    backfill_samples: samples,
    backfill_gaps: gaps,
    backfill_problem: problem,
    drift_compared: drift?.compared,
    drift_median_e4: drift?.medianE4,
    drift_worst:
      drift?.worst && `${drift.worst.e4} (${drift.worst.symbol} ${formatTimestamp(drift.worst.minute)})`,
  }
}

function summarise(gaps: readonly Gap[]): string {
  const counts = new Map<string, number>()
  for (const { reason } of gaps) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts].map(([reason, count]) => `${count} ${reason}`).join(', ') || 'none'
}
