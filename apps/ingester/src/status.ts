import { type EpochMs, formatTimestamp, type Gap, MINUTE_MS, type Milliseconds } from '@kimchi/core'
import type { FeedStatus } from '@kimchi/feeds'
import type { QueueStatus } from '@kimchi/store'
import type { BackfillStatus } from './backfill/run-backfill.ts'
import type { QuarantineStatus } from './coins/quarantine.ts'
import type { CatalogueStatus } from './coins/refresh-catalogue.ts'
import { basesOf, type FeedsStatus } from './minute/exchange-feeds.ts'
import type { MinuteStatus } from './minute/minute-loop.ts'

/** When the list of trading markets is older than this, a halt may go unnoticed. */
const MAX_STATUS_AGE_MS: Milliseconds = 300_000

/** The status of all parts, for `/ready`, `/metrics` and the status hash. */
export interface IngesterStatus {
  readonly version: string
  readonly startedAt: EpochMs
  readonly catalogue: CatalogueStatus
  readonly quarantine: QuarantineStatus
  /** How many coins are published. */
  readonly tracked: number
  readonly feeds: FeedsStatus
  readonly minutes: MinuteStatus
  readonly queue: QueueStatus
  readonly backfill: BackfillStatus
}

/** Why this ingester does not work fully right now, one sentence each; empty when it does. */
export function notReadyReasons(status: IngesterStatus, now: EpochMs): string[] {
  const { queue } = status
  const { coins, problem } = status.catalogue
  const reasons: string[] = []
  if (coins === undefined) reasons.push(`listings not loaded yet${problem ? `: ${problem}` : ''}`)
  for (const feed of status.feeds.feeds) {
    const { exchange, state, lastDataAt, statusAt } = feed
    if (state !== 'up') reasons.push(`${exchange}: no data (${state})${errorSince(feed, lastDataAt)}`)
    else if (now - statusAt > MAX_STATUS_AGE_MS) {
      const age = `${Math.floor((now - statusAt) / MINUTE_MS)} minutes`
      const because = errorSince(feed, statusAt)
      reasons.push(`${exchange}: which markets trade has not been known for ${age}${because}`)
    }
  }
  if (queue.problem !== undefined) {
    reasons.push(`${queue.waiting} minutes wait to be written: ${queue.problem}`)
  }
  for (const symbol of queue.damaged) {
    reasons.push(`${symbol} is not stored: one of its keys in Redis is of a wrong type, kp_check names it`)
  }
  const { last } = status.minutes
  if (last === undefined) reasons.push('no minute has turned yet')
  else if (last.accepted.length === 0 && (coins === undefined || status.tracked > 0)) {
    reasons.push(`no sample at ${formatTimestamp(last.turn.minute)}: ${summarise(last.gaps)}`)
  }
  return reasons
}

/** What an operator should know although the ingester works fully, one sentence each. */
export function notesOf({ feeds }: IngesterStatus): string[] {
  const bases = basesOf(feeds).filter(({ place }) => place > 0)
  return [
    ...bases.map(({ exchange, of, inUse, left }) => {
      const reasons = left.map(({ base, reason }) => `${base} (${reason})`).join(', ')
      return `${exchange} ${of}: ${inUse} is in use instead of ${reasons || 'the first address'}`
    }),
    ...feeds.feeds.flatMap(({ exchange, refusedMarkets }) =>
      refusedMarkets.map(market => `${exchange} refuses ${market}: it is left out, and asked for every hour`),
    ),
  ]
}

/** The last error as the end of a sentence; empty when all has been well since. */
function errorSince({ lastError }: FeedStatus, wellAt: EpochMs | undefined): string {
  return lastError !== undefined && lastError.at >= (wellAt ?? 0) ? `: ${lastError.message}` : ''
}

/**
 * The status hash of one ingester as readable texts. A number is named after its metric: `open_minutes` is
 * `kimchi_ingester_open_minutes`, `gaps_behind` is `kimchi_ingester_gaps_total{reason="behind"}`.
 * @see docs/architecture.md#data-in-redis
 */
export function statusFields(status: IngesterStatus, now: EpochMs): Record<string, string> {
  const fields: Record<string, string | number | undefined> = {
    version: status.version,
    started_at: new Date(status.startedAt).toISOString(),
    tracked_coins: status.tracked,
    ...coinFields(status),
    ...minuteFields(status),
    ...queueFields(status),
    ...backfillFields(status),
    ...feedFields(status, now),
  }
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value ?? '')]))
}

function coinFields({ catalogue, quarantine }: IngesterStatus) {
  return {
    quarantined_coins: quarantine.quarantined.map(({ symbol, reason }) => `${symbol} (${reason})`).join('; '),
    quarantine_release: quarantine.release,
    denied: quarantine.denied.join(', '),
    missing: catalogue.missing.join('; '),
    catalogue_problem: catalogue.problem,
  }
}

function minuteFields({ minutes: { last, accepted, dropped, skipped, gaps } }: IngesterStatus) {
  return {
    last_minute: last && formatTimestamp(last.turn.minute),
    samples_accepted: accepted,
    samples_dropped: dropped,
    skipped_turns: skipped,
    gaps_last_minute: last && summarise(last.gaps),
    ...Object.fromEntries([...gaps].map(([reason, count]) => [`gaps_${reason}`, count])),
  }
}

function queueFields({ queue: { waiting, problem, totals, lastWrittenMinute } }: IngesterStatus) {
  return {
    last_written_minute: lastWrittenMinute && formatTimestamp(lastWrittenMinute),
    waiting_minutes: waiting,
    ...Object.fromEntries(
      Object.entries(totals).map(([outcome, count]) => [`redis_writes_${outcome}`, count]),
    ),
    redis_problem: problem,
  }
}

function backfillFields({ backfill }: IngesterStatus) {
  const { open, stored, settled, refused, waiting, candleRequests, drift, problem } = backfill
  return {
    open_minutes: open,
    decided_minutes_stored: stored,
    decided_minutes_settled: settled,
    decided_minutes_refused: refused,
    backfill_waiting_coins: waiting.map(({ symbol, reason }) => `${symbol} (${reason})`).join('; '),
    ...Object.fromEntries(
      candleRequests.map(({ exchange, problem }) => [`backfill_${exchange}_problem`, problem]),
    ),
    backfill_problem: problem,
    drift_compared: drift?.compared,
    drift_median_e4: drift?.medianE4,
    drift_worst: drift && `${drift.worst.e4} (${drift.worst.symbol} ${formatTimestamp(drift.worst.minute)})`,
  }
}

function feedFields({ feeds: status }: IngesterStatus, now: EpochMs) {
  const fields: Record<string, string | number | undefined> = { refused_ticks: status.refusedTicks }
  for (const { exchange, of, inUse } of basesOf(status)) fields[`${exchange}_${of}_base`] = inUse
  for (const feed of status.feeds) {
    const { exchange, lastDataAt, watermark, lastError } = feed
    fields[`${exchange}_state`] = feed.state
    fields[`${exchange}_data_age_ms`] = lastDataAt && now - lastDataAt
    fields[`${exchange}_watermark_age_ms`] = watermark && now - watermark
    fields[`${exchange}_status_age_ms`] = now - feed.statusAt
    fields[`${exchange}_status_failures`] = feed.statusFailures
    fields[`${exchange}_halted`] = feed.halted.join(', ')
    fields[`${exchange}_refused_markets`] = feed.refusedMarkets.join(', ')
    fields[`${exchange}_attempts`] = feed.attempts
    fields[`${exchange}_silences`] = feed.silences
    fields[`${exchange}_reconnects`] = feed.reconnects
    fields[`${exchange}_malformed`] = feed.malformed
    fields[`${exchange}_last_error`] =
      lastError && `${lastError.message} (${new Date(lastError.at).toISOString()})`
  }
  return fields
}

function summarise(gaps: readonly Gap[]): string {
  const counts = new Map<string, number>()
  for (const { reason } of gaps) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts].map(([reason, count]) => `${count} ${reason}`).join(', ') || 'none'
}
