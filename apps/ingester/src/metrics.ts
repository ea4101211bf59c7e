import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { IngesterState } from './status.ts'

/** The ingester's Prometheus metrics, read from its state whenever they are asked for. */
export function createMetrics(state: IngesterState): Registry {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Counter({
    name: 'kimchi_samples_total',
    help: 'Live samples by what became of them',
    labelNames: ['outcome'],
    registers,
    collect() {
      this.reset()
      this.inc({ outcome: 'admitted' }, state.counts.admitted)
      this.inc({ outcome: 'dropped' }, state.counts.dropped)
    },
  })
  new Counter({
    name: 'kimchi_gaps_total',
    help: 'Coin minutes without a live sample, by reason',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset()
      for (const [reason, count] of state.counts.gaps) this.inc({ reason }, count)
    },
  })
  new Gauge({
    name: 'kimchi_last_minute_seconds',
    help: 'Unix time of the last minute taken',
    registers,
    collect() {
      this.set((state.lastReport?.turn.minute ?? 0) * 60)
    },
  })
  new Counter({
    name: 'kimchi_skipped_minutes_total',
    help: 'Minutes passed over because the machine slept, stalled or its clock stepped',
    registers,
    collect() {
      this.reset()
      this.inc(state.counts.skippedMinutes)
    },
  })
  registerCoins(state, registry)
  registerFeeds(state, registry)
  registerQueue(state, registry)
  registerBackfill(state, registry)
  return registry
}

function registerCoins(state: IngesterState, registry: Registry): void {
  new Gauge({
    name: 'kimchi_tracked_coins',
    help: 'Coins that are published',
    registers: [registry],
    collect() {
      this.set(state.coins?.length ?? 0)
    },
  })
  new Gauge({
    name: 'kimchi_held_back_coins',
    help: 'Coins of which nothing is published for now; why: the status hash',
    labelNames: ['symbol'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { symbol } of state.held) this.set({ symbol }, 1)
    },
  })
}

function registerFeeds(state: IngesterState, registry: Registry): void {
  new Gauge({
    name: 'kimchi_feed_up',
    help: '1 while the exchange sends data',
    labelNames: ['exchange'],
    registers: [registry],
    collect() {
      for (const { exchange, state: feedState } of state.feeds())
        this.set({ exchange }, feedState === 'up' ? 1 : 0)
    },
  })
  new Counter({
    name: 'kimchi_feed_events_total',
    help: 'Frames, ticks and mishaps of each feed since start',
    labelNames: ['exchange', 'event'],
    registers: [registry],
    collect() {
      this.reset()
      for (const feed of state.feeds()) {
        for (const event of [
          'frames',
          'ticks',
          'ignored',
          'malformed',
          'reconnects',
          'replacements',
          'stalls',
        ] as const) {
          this.inc({ exchange: feed.exchange, event }, feed[event])
        }
      }
    },
  })
}

function registerQueue(state: IngesterState, registry: Registry): void {
  new Gauge({
    name: 'kimchi_redis_queue_minutes',
    help: 'Minutes that wait to be written to Redis',
    registers: [registry],
    collect() {
      this.set(state.queue.depth)
    },
  })
  new Counter({
    name: 'kimchi_redis_writes_total',
    help: 'Samples stored, there already or refused; minutes dropped or rejected; attempts made again',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [outcome, count] of Object.entries(state.queue.totals)) this.inc({ outcome }, count)
    },
  })
}

function registerBackfill({ backfill }: IngesterState, registry: Registry): void {
  new Counter({
    name: 'kimchi_backfill_minutes_total',
    help: 'Missing minutes that candles turned into samples, or could not',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset()
      this.inc({ outcome: 'sample' }, backfill.samples)
      this.inc({ outcome: 'gap' }, backfill.gaps)
    },
  })
  new Gauge({
    name: 'kimchi_drift_percent',
    help: 'Distance of recent live premiums from those of candles, in percent points',
    labelNames: ['statistic'],
    registers: [registry],
    collect() {
      if (backfill.drift === undefined) return
      this.set({ statistic: 'median' }, backfill.drift.medianE4 / 10_000)
      this.set({ statistic: 'worst' }, (backfill.drift.worst?.e4 ?? 0) / 10_000)
    },
  })
}
