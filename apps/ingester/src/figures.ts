import { type EpochMs, type Exchange, formatTimestamp } from '@kimchi/core'
import type { FeedsStatus } from './minute/exchange-feeds.ts'
import { countReasons } from './minute/minute-loop.ts'
import type { IngesterStatus } from './status.ts'
import { nameSome, summarise } from './status-texts.ts'

/** A text or a number; of a list the hash shows all members, a metric its length. */
type Value = string | number | readonly string[] | undefined
type Values = Readonly<Record<string, Value>>

/** How a figure is shown on `/metrics`, because an alert, a panel or a runbook reads it. */
interface Metric {
  readonly type: 'gauge' | 'counter'
  readonly help: string
  /** What follows `kimchi_ingester_`. @default the figure's name, and `_total` for a counter */
  readonly name?: string
  /** From the figure's unit to the metric's. @default 1 */
  readonly factor?: number
}

export interface Figure {
  readonly label: 'exchange' | 'reason' | 'outcome' | undefined
  /** By label; the one value of a figure without one under ''. */
  readonly values: Values
  readonly metric: Metric | undefined
}

const one = (value: Value, metric?: Metric): Figure => ({ label: undefined, values: { '': value }, metric })
const each = (label: Figure['label'], values: Values, metric?: Metric): Figure => ({ label, values, metric })
const gauge = (help: string, as: Partial<Metric> = {}): Metric => ({ type: 'gauge', help, ...as })
const counter = (help: string): Metric => ({ type: 'counter', help })
const outcomes = (values: Values, help: string) => each('outcome', values, counter(help))

function eachOf<T extends { exchange: Exchange }>(
  parts: readonly T[],
  read: (part: T) => Value,
  metric?: Metric,
) {
  return each('exchange', Object.fromEntries(parts.map(part => [part.exchange, read(part)])), metric)
}

/**
 * What an ingester tells of itself, under one name in the status hash, in `kp_status` and on `/metrics`:
 * `open_minutes` is `kimchi_ingester_open_minutes`. One value for each exchange, reason or outcome has a field of its own:
 * `gaps` with `{behind: 1}` is `gaps_behind` and `kimchi_ingester_gaps_total{reason="behind"}`, `silences` of upbit is
 * `upbit_silences` and `kimchi_ingester_silences_total{exchange="upbit"}`.
 */
export function figuresOf(status: IngesterStatus): Readonly<Record<string, Figure>> {
  const { at, catalogue, quarantine, heldBack, doors, feeds, minutes, queue, backfill, mending } = status
  const { last } = minutes
  const { stored, settled, refused, drift } = backfill
  const eachFeed = (read: (feed: FeedsStatus[number]) => Value, metric?: Metric) =>
    eachOf(feeds, read, metric)
  const ways = doors.map(({ rest }) => rest)
  const problemOf = (exchange: Exchange) => ways.find(way => way.exchange === exchange)?.held?.reason
  return {
    version: one(status.version),
    tracked_coins: one(quarantine.tracked),
    held_back: one(
      nameSome(
        heldBack,
        ({ symbol, reason, text }) => `${symbol} (${reason}: ${text})`,
        more => `others (more: ${more} coins)`,
      ),
    ),
    held_back_coins: each(
      'reason',
      countReasons(heldBack),
      gauge('Coins whose newest row is more than two minutes old, by reason; in words: the status hash.'),
    ),
    missing: one(catalogue.missing),
    catalogue_problem: one(catalogue.problem),
    last_minute: one(last && formatTimestamp(last.minute)),
    gaps_last_minute: one(last && summarise(last.gaps)),
    gaps: each('reason', minutes.gaps, counter('Minutes without a live sample, per coin and minute.')),
    last_written_minute: one(queue.lastWrittenMinute && formatTimestamp(queue.lastWrittenMinute)),
    waiting_minutes: one(queue.waiting, gauge('Minutes that wait to be stored to Redis.')),
    redis_writes: outcomes(
      queue.totals,
      'Samples stored, there already or refused; minutes dropped or rejected; writes tried again.',
    ),
    redis_problem: one(queue.problem),
    open_minutes: one(backfill.open, gauge('Minutes neither stored nor settled, per coin and minute.')),
    decided_minutes: outcomes({ stored, settled, refused }, 'Open minutes, as backfill decided them.'),
    mended_rows: outcomes({ mended: mending.mended }, 'Day rows that were wrong and were folded again.'),
    mending_problem: one(mending.problem),
    backfill_waiting_coins: one(backfill.troubled.map(({ symbol, reason }) => `${symbol} (${reason})`)),
    backfill_upbit_problem: one(problemOf('upbit')),
    backfill_binance_problem: one(problemOf('binance')),
    backfill_problem: one(backfill.problem),
    unreadable_candles: each('exchange', backfill.unreadable.pages),
    drift_median_e4: one(
      drift?.medianE4,
      gauge('Median difference of live premiums and those of candles; 0.01 is a percentage point.', {
        name: 'drift_median_ratio',
        factor: 1e-6,
      }),
    ),
    drift_worst: one(
      drift && `${drift.worst.e4} (${drift.worst.symbol} ${formatTimestamp(drift.worst.minute)})`,
    ),
    stream_base: eachFeed(({ base }) => base.inUse),
    rest_base: eachOf(ways, ({ inUse }) => inUse),
    state: eachFeed(({ state }) => state),
    data_age_ms: eachFeed(({ lastDataAt }) => lastDataAt && at - lastDataAt),
    watermark_age_ms: eachFeed(
      ({ watermark }) => watermark && at - watermark,
      gauge('Age of the newest event time of the stream.', { name: 'watermark_age_seconds', factor: 1e-3 }),
    ),
    halted: eachFeed(({ halted }) => halted.join(', ')),
    unreadable_frames: eachFeed(({ missed }) => missed.map(({ market, count }) => `${market} (${count})`)),
    late_ticks: eachFeed(({ lateTicks }) => lateTicks),
    silences: eachFeed(feed => feed.silences, counter('Silences of more than 3 s on an open connection.')),
    reconnects: eachFeed(feed => feed.reconnects, counter('Times that data came back after a break.')),
    malformed: eachFeed(({ malformed }) => malformed, counter('Frames that were dropped as broken.')),
    last_error: eachFeed(({ lastError }) => lastError && `${lastError.message} (${isoOf(lastError.at)})`),
  }
}

/**
 * The status hash of one ingester as readable texts. An exchange is put before the name (`upbit_silences`), an
 * outcome or a reason after it (`gaps_behind`).
 * @see docs/architecture.md#data-in-redis
 */
export function statusFields(status: IngesterStatus): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [name, { label, values }] of Object.entries(figuresOf(status))) {
    for (const [key, value] of Object.entries(values)) {
      const field = label === undefined ? name : label === 'exchange' ? `${key}_${name}` : `${name}_${key}`
      fields[field] = typeof value === 'object' ? value.join('; ') : String(value ?? '')
    }
  }
  return fields
}

/** A figure's values as those of its metric; a list counts as its length. */
export function metricValues({ label, values, metric }: Figure) {
  return Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined) return []
    const number = typeof value === 'object' ? value.length : Number(value) * (metric?.factor ?? 1)
    return [[label === undefined ? {} : { [label]: key }, number] as const]
  })
}

function isoOf(at: EpochMs): string {
  return new Date(at).toISOString()
}
