import { type EpochMs, formatTimestamp, type Gap, MINUTE_MS, type Milliseconds } from '@kimchi/core'
import type { QueueStatus } from '@kimchi/store'
import type { BackfillStatus } from './backfill/run-backfill.ts'
import type { Held } from './coins/held-back.ts'
import type { QuarantineStatus } from './coins/quarantine.ts'
import type { CatalogueStatus } from './coins/refresh-catalogue.ts'
import type { FeedsStatus } from './minute/exchange-feeds.ts'
import type { DayMendingStatus } from './minute/mend-days.ts'
import { countReasons, type MinuteStatus } from './minute/minute-loop.ts'

/** More coins that are held back are only counted. */
const NAMED_COINS = 10

/** A market whose frames can't be read for this long is named. */
const UNREADABLE_AFTER_MS: Milliseconds = 2 * MINUTE_MS

/** The status of all parts, for `/ready`, `/metrics` and the status hash. */
export interface IngesterStatus {
  /** When it was taken. */
  readonly at: EpochMs
  readonly version: string
  readonly startedAt: EpochMs
  readonly catalogue: CatalogueStatus
  readonly quarantine: QuarantineStatus
  readonly heldBack: readonly Held[]
  readonly feeds: FeedsStatus
  readonly minutes: MinuteStatus
  readonly queue: QueueStatus
  readonly backfill: BackfillStatus
  readonly mending: DayMendingStatus
}

/** A text or a number; of a list the hash shows all members. */
type Value = string | number | readonly string[] | undefined

/** One value, or one for each exchange, outcome or reason. */
export type Figure = Value | Readonly<Record<string, Value>>

/**
 * What an ingester tells of itself, under one name in the status hash, in `kp_status` and on `/metrics`:
 * `open_minutes` is `kimchi_ingester_open_minutes`, `gaps` with `{late: 1}` is `gaps_late` and
 * `kimchi_ingester_gaps_total{reason="late"}`, `silences` of upbit is `upbit_silences` and
 * `kimchi_ingester_silences_total{exchange="upbit"}`. Metrics have ages in seconds.
 */
export function figuresOf(status: IngesterStatus) {
  const { at, catalogue, quarantine, heldBack, feeds, minutes, queue, backfill, mending } = status
  const { last } = minutes
  const { stored, settled, refused, drift } = backfill
  const eachFeed = (read: (feed: FeedsStatus['feeds'][number]) => Value) =>
    Object.fromEntries(feeds.feeds.map(feed => [feed.exchange, read(feed)]))
  return {
    version: status.version,
    started_at: isoOf(status.startedAt),
    tracked_coins: quarantine.tracked,
    held_back: nameSome(
      heldBack,
      ({ symbol, reason, text }) => `${symbol} (${reason}: ${text})`,
      more => `others (more: ${more} coins)`,
    ),
    held_back_coins: countReasons(heldBack),
    denied: quarantine.denied.join(', '),
    missing: catalogue.missing,
    catalogue_problem: catalogue.problem,
    last_minute: last && formatTimestamp(last.turn.minute),
    samples_accepted: minutes.samples,
    skipped_turns: minutes.skipped,
    gaps_last_minute: last && summarise(last.gaps),
    gaps: minutes.gaps,
    last_written_minute: queue.lastWrittenMinute && formatTimestamp(queue.lastWrittenMinute),
    waiting_minutes: queue.waiting,
    redis_writes: queue.totals,
    redis_problem: queue.problem,
    open_minutes: backfill.open,
    decided_minutes: { stored, settled, refused },
    mended_rows: { mended: mending.mended },
    mending_problem: mending.problem,
    backfill_waiting_coins: backfill.troubled.map(({ symbol, reason }) => `${symbol} (${reason})`),
    backfill: Object.fromEntries(
      backfill.candleRequests.map(({ exchange, problem }) => [`${exchange}_problem`, problem]),
    ),
    backfill_problem: backfill.problem,
    unreadable_candles: backfill.unreadable.pages,
    drift_compared: drift?.compared,
    drift_median_e4: drift?.medianE4,
    drift_worst: drift && `${drift.worst.e4} (${drift.worst.symbol} ${formatTimestamp(drift.worst.minute)})`,
    stream_base: eachFeed(({ base }) => base.inUse),
    rest_base: Object.fromEntries(feeds.restBases.map(({ exchange, inUse }) => [exchange, inUse])),
    state: eachFeed(({ state }) => state),
    data_age_ms: eachFeed(({ lastDataAt }) => lastDataAt && at - lastDataAt),
    watermark_age_ms: eachFeed(({ watermark }) => watermark && at - watermark),
    status_age_ms: eachFeed(({ statusAt }) => at - statusAt),
    status_failures: eachFeed(({ statusFailures }) => statusFailures),
    halted: eachFeed(({ halted }) => halted.join(', ')),
    unreadable_frames: eachFeed(({ missed }) => missed.map(({ market, count }) => `${market} (${count})`)),
    late_ticks: eachFeed(({ lateTicks }) => lateTicks),
    refused_ticks: eachFeed(({ refusedTicks }) => refusedTicks),
    attempts: eachFeed(({ attempts }) => attempts),
    silences: eachFeed(({ silences }) => silences),
    reconnects: eachFeed(({ reconnects }) => reconnects),
    malformed: eachFeed(({ malformed }) => malformed),
    last_error: eachFeed(({ lastError }) => lastError && `${lastError.message} (${isoOf(lastError.at)})`),
  } satisfies Readonly<Record<string, Figure>>
}

/** What a figure is called in the hash, and in a metric if it is one. */
export type FigureName = keyof ReturnType<typeof figuresOf>

/**
 * The status hash of one ingester as readable texts. An exchange is put before the name (`upbit_silences`), an
 * outcome or a reason after it (`gaps_late`).
 * @see docs/architecture.md#data-in-redis
 */
export function statusFields(status: IngesterStatus): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [name, figure] of Object.entries<Figure>(figuresOf(status))) {
    if (!isSeveral(figure)) fields[name] = asText(figure)
    else for (const [key, value] of Object.entries(figure)) fields[fieldOf(name, key)] = asText(value)
  }
  return fields
}

/** The field of one value among several of a figure. */
function fieldOf(figure: string, key: string): string {
  return key === 'upbit' || key === 'binance' ? `${key}_${figure}` : `${figure}_${key}`
}

export function isSeveral(figure: Figure): figure is Readonly<Record<string, Value>> {
  return typeof figure === 'object' && !Array.isArray(figure)
}

function asText(value: Value): string {
  return typeof value === 'object' ? value.join('; ') : String(value ?? '')
}

function isoOf(at: EpochMs): string {
  return new Date(at).toISOString()
}

/** The markets whose frames could not be read or placed in time for two minutes, up to now. */
export function unreadableOf({ at, feeds }: Pick<IngesterStatus, 'at' | 'feeds'>) {
  return feeds.feeds
    .flatMap(({ missed }) => missed)
    .filter(({ since, lastAt, isOver }) => {
      const until = isOver ? lastAt : at
      return until - since >= UNREADABLE_AFTER_MS && at - until < UNREADABLE_AFTER_MS
    })
    .map(({ market, count, since }) => ({ market, count, minutes: Math.floor((at - since) / MINUTE_MS) }))
}

/** Names the first of what is held back, and counts the others. */
export function nameSome(
  held: readonly Held[],
  name: (each: Held) => string,
  count: (more: number) => string,
): string[] {
  const more = held.length - NAMED_COINS
  return [...held.slice(0, NAMED_COINS).map(name), ...(more > 0 ? [count(more)] : [])]
}

/** How often each reason occurs, as a text. */
export function summarise(gaps: readonly Gap[]): string {
  const reasons = Object.entries(countReasons(gaps)).map(([reason, count]) => `${count} ${reason}`)
  return reasons.join(', ') || 'none'
}
