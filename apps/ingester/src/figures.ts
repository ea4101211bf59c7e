import { type EpochMs, formatTimestamp } from '@kimchi/core'
import { basesOf, type ExchangeStatus } from './minute/exchange-feeds.ts'
import { type IngesterStatus, implausibleOf, summarise } from './status.ts'

/** A text or a number; a list is all its members in the hash, and how many they are in a metric. */
type Value = string | number | readonly string[] | undefined

/**
 * What an ingester tells of itself, under one name in the status hash, in `kp_status` and on `/metrics`:
 * `open_minutes` is `kimchi_ingester_open_minutes`, `gaps_late` is `kimchi_ingester_gaps_total{reason="late"}`,
 * `upbit_silences` is `kimchi_ingester_silences_total{exchange="upbit"}`. Metrics have ages in seconds.
 */
export interface Figure {
  readonly name: string
  /** What tells the values of a map apart. In the hash an exchange stands before the name, all else behind it. */
  readonly label?: 'exchange' | 'outcome' | 'reason'
  /** What it means, if it is a metric that goes up and down. */
  readonly gauge?: string
  /** What it means, if it is a metric that only goes up. */
  readonly counter?: string
  readonly read: (status: IngesterStatus, now: EpochMs) => Value | ReadonlyMap<string, Value>
}

/** All of them. A figure is a metric as well when an alert, a panel or a runbook reads it. */
export const FIGURES: readonly Figure[] = [
  { name: 'version', read: ({ version }) => version },
  { name: 'started_at', read: ({ startedAt }) => new Date(startedAt).toISOString() },
  { name: 'tracked_coins', read: ({ tracked }) => tracked },
  {
    name: 'quarantined_coins',
    gauge: 'Coins of which nothing is published for now; in words: the status hash.',
    read: ({ quarantine }) => quarantine.quarantined.map(({ symbol, reason }) => `${symbol} (${reason})`),
  },
  {
    name: 'implausible_coins',
    gauge: 'Coins held back in the last minute because their prices were implausible.',
    read: ({ minutes }) => implausibleOf(minutes).map(({ symbol, prices }) => `${symbol} (${prices})`),
  },
  { name: 'quarantine_release', read: ({ quarantine }) => quarantine.release },
  { name: 'denied', read: ({ quarantine }) => quarantine.denied.join(', ') },
  { name: 'missing', read: ({ catalogue }) => catalogue.missing },
  { name: 'catalogue_problem', read: ({ catalogue }) => catalogue.problem },

  { name: 'last_minute', read: ({ minutes: { last } }) => last && formatTimestamp(last.turn.minute) },
  { name: 'samples_accepted', read: ({ minutes }) => minutes.accepted },
  { name: 'samples_dropped', read: ({ minutes }) => minutes.dropped },
  { name: 'skipped_turns', read: ({ minutes }) => minutes.skipped },
  { name: 'gaps_last_minute', read: ({ minutes: { last } }) => last && summarise(last.gaps) },
  {
    name: 'gaps',
    label: 'reason',
    counter: 'Minutes without a live sample, counted per coin and minute, by reason.',
    read: ({ minutes }) => minutes.gaps,
  },

  {
    name: 'last_written_minute',
    read: ({ queue: { lastWrittenMinute: minute } }) => minute && formatTimestamp(minute),
  },
  {
    name: 'waiting_minutes',
    gauge: 'Minutes that wait to be stored to Redis.',
    read: ({ queue }) => queue.waiting,
  },
  {
    name: 'redis_writes',
    label: 'outcome',
    counter: 'Samples stored, there already or refused; minutes dropped or rejected; writes tried again.',
    read: ({ queue }) => new Map(Object.entries(queue.totals)),
  },
  { name: 'redis_problem', read: ({ queue }) => queue.problem },

  {
    name: 'open_minutes',
    gauge: 'Minutes neither stored nor settled, counted per coin and minute.',
    read: ({ backfill }) => backfill.open,
  },
  {
    name: 'decided_minutes',
    label: 'outcome',
    counter: 'Open minutes by what backfill decided, counted per coin and minute.',
    read: ({ backfill: { stored, settled, refused } }) =>
      new Map(Object.entries({ stored, settled, refused })),
  },
  {
    name: 'mended_rows',
    label: 'outcome',
    counter: 'Day rows that counted less than is stored: mended, or differing still.',
    read: ({ mending }) => new Map(Object.entries(mending)),
  },
  {
    name: 'filling_coins',
    gauge: 'Coins whose gaps this ingester fills; 0 while another holds the lease.',
    read: ({ backfill }) => backfill.filling,
  },
  {
    name: 'backfill_waiting_coins',
    read: ({ backfill }) => backfill.waiting.map(({ symbol, reason }) => `${symbol} (${reason})`),
  },
  {
    name: 'backfill',
    read: ({ backfill }) =>
      new Map(backfill.candleRequests.map(({ exchange, problem }) => [`${exchange}_problem`, problem])),
  },
  { name: 'backfill_problem', read: ({ backfill }) => backfill.problem },
  { name: 'drift_compared', read: ({ backfill }) => backfill.drift?.compared },
  {
    name: 'drift_median_e4',
    gauge: 'Half of the recent live premiums are this near to those of candles; 0.01 is a percentage point.',
    read: ({ backfill }) => backfill.drift?.medianE4,
  },
  {
    name: 'drift_worst',
    read: ({ backfill: { drift } }) =>
      drift && `${drift.worst.e4} (${drift.worst.symbol} ${formatTimestamp(drift.worst.minute)})`,
  },

  {
    name: 'base',
    label: 'exchange',
    read: ({ feeds }) =>
      new Map(basesOf(feeds).map(({ exchange, of, inUse }) => [`${exchange}_${of}`, inUse])),
  },
  ofFeeds('state', ({ state }) => state),
  ofFeeds('data_age_ms', ({ lastDataAt }, now) => lastDataAt && now - lastDataAt),
  {
    ...ofFeeds('watermark_age_ms', ({ watermark }, now) => watermark && now - watermark),
    gauge: 'Age of the newest event time of the stream.',
  },
  ofFeeds('status_age_ms', ({ statusAt }, now) => now - statusAt),
  ofFeeds('status_failures', ({ statusFailures }) => statusFailures),
  ofFeeds('halted', ({ halted }) => halted.join(', ')),
  ofFeeds('refused_ticks', ({ refusedTicks }) => refusedTicks),
  ofFeeds('attempts', ({ attempts }) => attempts),
  {
    ...ofFeeds('silences', ({ silences }) => silences),
    counter: 'Silences of more than 3 s on an open connection.',
  },
  {
    ...ofFeeds('reconnects', ({ reconnects }) => reconnects),
    counter: 'Times that data came back after it had broken off.',
  },
  {
    ...ofFeeds('malformed', ({ malformed }) => malformed),
    counter: 'Frames that were dropped as broken.',
  },
  ofFeeds(
    'last_error',
    ({ lastError }) => lastError && `${lastError.message} (${new Date(lastError.at).toISOString()})`,
  ),
]

function ofFeeds(name: string, read: (feed: ExchangeStatus, now: EpochMs) => Value): Figure {
  return {
    name,
    label: 'exchange',
    read: ({ feeds }, now) => new Map(feeds.feeds.map(feed => [feed.exchange, read(feed, now)])),
  }
}

/**
 * The status hash of one ingester as readable texts.
 * @see docs/architecture.md#data-in-redis
 */
export function statusFields(status: IngesterStatus, now: EpochMs): Record<string, string> {
  const fields = FIGURES.flatMap(figure => {
    const { name, label } = figure
    const nameOf = (key: string) => (label === 'exchange' ? `${key}_${name}` : `${name}_${key}`)
    const values = valuesOf(figure, status, now)
    return values.map(([key, value]) => [key === undefined ? name : nameOf(key), asText(value)])
  })
  return Object.fromEntries(fields)
}

/** A figure's values, each with what tells it apart; without a map there is one, with nothing to tell it apart. */
export function valuesOf(
  { read }: Figure,
  status: IngesterStatus,
  now: EpochMs,
): readonly (readonly [key: string | undefined, value: Value])[] {
  const value = read(status, now)
  return value instanceof Map ? [...value] : [[undefined, value as Value]]
}

function asText(value: Value): string {
  return typeof value === 'object' ? value.join('; ') : String(value ?? '')
}
