import { type Clock, minuteStart } from '@kimchi/core'
import { MetricsRegistry } from '@kimchi/runtime'
import type { ServerHealth } from '@kimchi/store'
import { basesOf } from './minute/exchange-feeds.ts'
import type { IngesterStatus } from './status.ts'

/** The counters of each feed. */
const FEED_EVENTS = [
  'frames',
  'ticks',
  'ignored',
  'malformed',
  'reconnects',
  'replacements',
  'silences',
  'stalls',
] as const

/** Where the numbers come from. */
export interface MetricsOptions {
  readonly version: string
  readonly clock: Pick<Clock, 'now'>
  readonly status: () => IngesterStatus
  /** Redis' health; undefined when Redis does not answer. */
  readonly redisHealth: () => Promise<ServerHealth | undefined>
}

/** The ingester's Prometheus metrics, read from its status whenever they are asked for. */
export function createMetrics({ version, clock, status, redisHealth }: MetricsOptions): MetricsRegistry {
  const metrics = new MetricsRegistry({ app: 'ingester', version })
  registerMinutes(metrics, status)
  registerCoins(metrics, status)
  registerFeeds(metrics, status)
  registerAges(metrics, status, clock)
  registerQueue(metrics, status)
  registerRedis(metrics, redisHealth)
  registerBackfill(metrics, status)
  return metrics
}

function registerMinutes(metrics: MetricsRegistry, status: () => IngesterStatus): void {
  metrics.gauge({
    name: 'kimchi_ingester_last_minute_timestamp_seconds',
    help: 'The last minute that turned, in seconds since the epoch.',
    read: () => {
      const { last } = status().minutes
      return last && minuteStart(last.turn.minute) / 1_000
    },
  })
  metrics.counter({
    name: 'kimchi_ingester_samples_total',
    help: 'Live samples by what became of them.',
    labels: ['outcome'],
    read: () => {
      const { accepted, dropped } = status().minutes
      return byOutcome({ accepted, dropped })
    },
  })
  metrics.counter({
    name: 'kimchi_ingester_gaps_total',
    help: 'Minutes without a live sample, counted per coin and minute, by reason.',
    labels: ['reason'],
    read: () => [...status().minutes.gaps].map(([reason, count]) => [{ reason }, count]),
  })
  metrics.histogram({
    name: 'kimchi_ingester_watermark_wait_seconds',
    help: 'Delay beyond M + 2 s before the snapshot of minute M was taken, while a stream had not passed M.',
    read: () => [[{}, status().minutes.waits]],
  })
  metrics.counter({
    name: 'kimchi_ingester_skipped_turns_total',
    help: 'Minute turns passed over because the machine slept, stalled or its clock stepped.',
    read: () => status().minutes.skipped,
  })
}

function registerCoins(metrics: MetricsRegistry, status: () => IngesterStatus): void {
  metrics.gauge({
    name: 'kimchi_ingester_tracked_coins',
    help: 'Coins that this ingester publishes.',
    read: () => status().tracked,
  })
  metrics.gauge({
    name: 'kimchi_ingester_quarantined_coins',
    help: 'Coins of which nothing is published for now; in words: the status hash.',
    labels: ['symbol', 'reason'],
    read: () => status().quarantine.quarantined.map(({ symbol, kind }) => [{ symbol, reason: kind }, 1]),
  })
}

function registerFeeds(metrics: MetricsRegistry, status: () => IngesterStatus): void {
  metrics.gauge({
    name: 'kimchi_ingester_feed_up',
    help: '1 while the exchange sends data.',
    labels: ['exchange'],
    read: () => status().feeds.feeds.map(({ exchange, state }) => [{ exchange }, state === 'up' ? 1 : 0]),
  })
  metrics.gauge({
    name: 'kimchi_ingester_base_place',
    help: 'Which address of an exchange is in use, by its place in the setting: 0 is the first.',
    labels: ['exchange', 'of'],
    read: () => basesOf(status().feeds).map(({ exchange, of, place }) => [{ exchange, of }, place]),
  })
  metrics.gauge({
    name: 'kimchi_ingester_refused_markets',
    help: 'Markets left out because the exchange refuses any subscription that names them.',
    labels: ['exchange'],
    read: () =>
      status().feeds.feeds.map(({ exchange, refusedMarkets }) => [{ exchange }, refusedMarkets.length]),
  })
  metrics.counter({
    name: 'kimchi_ingester_feed_events_total',
    help: 'Frames, ticks and errors of each feed.',
    labels: ['exchange', 'event'],
    read: () =>
      status().feeds.feeds.flatMap(feed =>
        FEED_EVENTS.map(event => [{ exchange: feed.exchange, event }, feed[event]] as const),
      ),
  })
  metrics.counter({
    name: 'kimchi_ingester_refused_ticks_total',
    help: 'Ticks refused because a time in them lies in the future.',
    read: () => status().feeds.refusedTicks,
  })
}

/** A value for each `outcome`. */
function byOutcome(counts: object): [{ outcome: string }, number][] {
  return Object.entries(counts).map(([outcome, count]) => [{ outcome }, count])
}

/** Ages by the ingester's own clock, so that a monitor with a wrong clock reads them right. */
function registerAges(
  metrics: MetricsRegistry,
  status: () => IngesterStatus,
  clock: MetricsOptions['clock'],
): void {
  const ages = (key: 'lastDataAt' | 'watermark') => () =>
    status().feeds.feeds.flatMap(feed => {
      const at = feed[key]
      return at === undefined ? [] : [[{ exchange: feed.exchange }, (clock.now() - at) / 1_000] as const]
    })
  metrics.gauge({
    name: 'kimchi_ingester_feed_data_age_seconds',
    help: 'Time since the exchange last sent data.',
    labels: ['exchange'],
    read: ages('lastDataAt'),
  })
  metrics.gauge({
    name: 'kimchi_ingester_feed_watermark_age_seconds',
    help: 'Age of the newest event time before which the exchange has sent everything.',
    labels: ['exchange'],
    read: ages('watermark'),
  })
}

function registerQueue(metrics: MetricsRegistry, status: () => IngesterStatus): void {
  metrics.gauge({
    name: 'kimchi_ingester_waiting_minutes',
    help: 'Minutes that wait to be stored to Redis.',
    read: () => status().queue.waiting,
  })
  metrics.counter({
    name: 'kimchi_ingester_redis_writes_total',
    help: 'Samples stored, there already or refused; snapshots dropped or rejected; writes tried again.',
    labels: ['outcome'],
    read: () => byOutcome(status().queue.totals),
  })
}

function registerRedis(metrics: MetricsRegistry, redisHealth: MetricsOptions['redisHealth']): void {
  const ask = shareRunning(redisHealth)
  metrics.gauge({
    name: 'kimchi_ingester_redis_up',
    help: '1 when Redis answered just now.',
    read: async () => ((await ask()) === undefined ? 0 : 1),
  })
  metrics.gauge({
    name: 'kimchi_ingester_redis_latency_seconds',
    help: 'How long Redis takes to answer, asked once whenever metrics are read.',
    read: async () => {
      const health = await ask()
      return health && health.latencyMs / 1_000
    },
  })
  metrics.gauge({
    name: 'kimchi_ingester_redis_memory_used_bytes',
    help: 'Memory that Redis uses.',
    read: async () => (await ask())?.memoryUsed,
  })
  metrics.gauge({
    name: 'kimchi_ingester_redis_memory_max_bytes',
    help: 'Memory at which Redis refuses writes; absent without a limit.',
    read: async () => (await ask())?.memoryMax,
  })
  metrics.gauge({
    name: 'kimchi_ingester_redis_persisting',
    help: '1 while Redis can write to its disk.',
    read: async () => {
      const health = await ask()
      return health && Number(health.persists)
    },
  })
}

/** Shares one call among all who ask while it runs: a scrape asks Redis once. */
function shareRunning<T>(ask: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= ask().finally(() => {
      running = undefined
    })
    return running
  }
}

function registerBackfill(metrics: MetricsRegistry, status: () => IngesterStatus): void {
  metrics.counter({
    name: 'kimchi_ingester_decided_minutes_total',
    help: 'Open minutes by what backfill decided, counted per coin and minute.',
    labels: ['outcome'],
    read: () => {
      const { stored, settled, refused } = status().backfill
      return byOutcome({ stored, settled, refused })
    },
  })
  metrics.gauge({
    name: 'kimchi_ingester_open_minutes',
    help: 'Minutes neither stored nor settled, counted per coin and minute.',
    read: () => status().backfill.open,
  })
  metrics.gauge({
    name: 'kimchi_ingester_backfill_waiting_coins',
    help: 'Coins whose candles could not be fetched; why: the status hash.',
    read: () => status().backfill.waiting.length,
  })
  metrics.counter({
    name: 'kimchi_ingester_backfill_requests_total',
    help: 'Requests for candles.',
    labels: ['exchange'],
    read: () => status().backfill.candleRequests.map(({ exchange, requests }) => [{ exchange }, requests]),
  })
  metrics.counter({
    name: 'kimchi_ingester_backfill_failures_total',
    help: 'Requests for candles that failed.',
    labels: ['exchange'],
    read: () => status().backfill.candleRequests.map(({ exchange, failures }) => [{ exchange }, failures]),
  })
  metrics.gauge({
    name: 'kimchi_ingester_drift_ratio',
    help: 'Distance of recent live premiums from those of candles; 0.01 is one percentage point.',
    labels: ['statistic'],
    read: () => {
      const { drift } = status().backfill
      if (drift === undefined) return undefined
      return [
        [{ statistic: 'median' }, drift.medianE4 / 1e6],
        [{ statistic: 'worst' }, drift.worst.e4 / 1e6],
      ]
    },
  })
}
