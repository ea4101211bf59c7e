import { createSpikeFilter, type SpikeFilter } from '@kimchi/core'
import { openOpsServer, type RunningApp } from '@kimchi/runtime'
import type { Board } from '@kimchi/store'
import { openBackfillLease } from './backfill/backfill-lease.ts'
import { runBackfill } from './backfill/run-backfill.ts'
import { writeSamplesTo } from './backfill/write-samples.ts'
import type { Context, IngesterOptions } from './context.ts'
import { createMetrics } from './metrics.ts'
import { ingest } from './minute/minute-loop.ts'
import { type Exchanges, openExchanges } from './open-exchanges.ts'
import { openStore, type Store } from './open-store.ts'
import { countMinute, notReadyReasons } from './status.ts'

/** A started ingester. */
export interface Ingester extends RunningApp {
  readonly opsPort: number
}

/**
 * Starts an ingester: feeds → latest ticks → one snapshot per minute → Redis. Starts without Redis and without the exchanges, and says
 * so on `/ready` until it has both.
 */
export async function startIngester(options: IngesterOptions): Promise<Ingester> {
  const { config, log, id, version } = options
  const ending = new AbortController()
  const failure = newFailure()
  const context: Context = { ...options, signal: ending.signal, fail: failure.fail }
  const store = openStore(context)
  const registry = createMetrics(store.state)
  const ops = await openOpsServer({
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    reasons: () => notReadyReasons(store.state),
    metrics: { contentType: registry.contentType, text: () => registry.metrics() },
  })
  log.info({ opsPort: ops.port, id, version, redis: store.redis.target }, 'ingester started')
  const exchanges = openExchanges(context, store)
  const running = [
    exchanges.catalogue,
    takeMinutes(context, store, exchanges),
    backfillHoles(context, store, exchanges),
  ]
  for (const part of running) part.catch(failure.fail)
  return {
    opsPort: ops.port,
    failed: failure.failed,
    close: async () => {
      ending.abort()
      await Promise.allSettled([exchanges.close(), ...running])
      await store.close()
      await ops.close()
    },
  }
}

/** The main line: each minute's snapshot, judged, on its way to Redis. */
async function takeMinutes(
  context: Context,
  store: Store,
  { latest, admission, judge }: Exchanges,
): Promise<void> {
  const { clock, signal, log } = context
  const { readBoard, queue, state, publishStatus } = store
  await ingest({
    clock,
    signal,
    latest,
    spikeFilter: spikeFilterOf(await readBoard()),
    coins: () => admission.subscribed,
    judge,
    store: (minute, samples, removed) => queue.enqueue({ minute, samples, removed }),
    onMinute: report => {
      countMinute(state, report)
      const { minute, lateMs: late } = report.turn
      log.info({ minute, samples: report.admitted.length, gaps: report.gaps.length, late }, 'minute')
      // What waits to be written publishes the status when it is.
      if (queue.depth === 0) publishStatus()
    },
  })
}

/** The side line: minutes that the main line missed. */
async function backfillHoles(
  context: Context,
  store: Store,
  { rest, admission, judge }: Exchanges,
): Promise<void> {
  const { config, clock, random, signal, id, log } = context
  const { redis, reader, writer, state } = store
  if (config.BACKFILL_DAYS === 0) return
  await runBackfill({
    coins: () => admission.tracked,
    untested: () => admission.untested,
    judge,
    days: config.BACKFILL_DAYS,
    state: state.backfill,
    reader,
    fetchCandles: (exchange, market, { start, end }) =>
      rest.minuteCandles(exchange, market, start, end, signal),
    write: writeSamplesTo(writer),
    lease: openBackfillLease(redis, id),
    clock,
    random,
    signal,
    log,
  })
}

/** A promise that only ever rejects, with the first failure it is told. */
function newFailure(): { failed: Promise<never>; fail: (thrown: unknown) => void } {
  let fail: (thrown: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  return { failed, fail }
}

/** Starts the spike filter with the last stored samples. */
function spikeFilterOf(board: Board | undefined): SpikeFilter {
  const spikeFilter = createSpikeFilter()
  for (const { symbol, minute, premiumE4 } of board?.rows ?? [])
    spikeFilter.remember(symbol, minute, premiumE4)
  return spikeFilter
}
