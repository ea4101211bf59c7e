import { type Clock, LatestTicks, type Milliseconds, messageOf, parseTimestamp, Witness } from '@kimchi/core'
import { openRestChild } from '@kimchi/feeds'
import { type Logger, openOpsServer, type RunningApp } from '@kimchi/runtime'
import {
  type Board,
  connectRedis,
  MinuteQueue,
  openLease,
  openReader,
  openWriter,
  type RedisConnection,
  type SampleReader,
} from '@kimchi/store'
import { Admission } from './admission.ts'
import { BACKFILL_LEASE, BACKFILL_LEASE_MS, runBackfill } from './backfill/run-backfill.ts'
import type { Config } from './config.ts'
import { type ExchangeFeeds, openExchangeFeeds } from './exchange-feeds.ts'
import { followCoins } from './follow-coins.ts'
import { countMinute, newState, notReadyReasons, statusFields } from './health.ts'
import { ingest } from './ingest.ts'
import { keepCoins } from './keep-coins.ts'
import { createMetrics } from './metrics.ts'

/** How long a start waits for Redis before it goes on without; what it would read is only a head start. */
const REDIS_PATIENCE_MS: Milliseconds = 1_000

/** How long an end may spend on minutes that are not written yet. */
const FLUSH_WITHIN_MS: Milliseconds = 2_000

/** A status that nobody renews for this long belongs to an ingester that is gone. */
const STATUS_TTL_SECONDS = 180

/** What an ingester gets from the outside. */
export interface IngesterOptions {
  readonly config: Config
  readonly log: Logger
  readonly clock: Clock
  /** As `Math.random`. */
  readonly random: () => number
  /** Names this ingester among others on the same Redis. */
  readonly id: string
  readonly version: string
  /** How often the market lists are loaded. @default an hour */
  readonly refreshMs?: Milliseconds
}

/** A started ingester. */
export interface Ingester extends RunningApp {
  readonly opsPort: number
}

/**
 * Starts an ingester: feeds → latest ticks → one snapshot per minute → Redis. Starts without Redis and without the exchanges, and says
 * so on `/ready` until it has both.
 */
export async function startIngester({
  config,
  log,
  clock,
  random,
  id,
  version,
  refreshMs,
}: IngesterOptions): Promise<Ingester> {
  const ending = new AbortController()
  const { signal } = ending
  const failure = newFailure()
  const redis = connectRedis(config.REDIS_URL, { name: 'kimchi-ingester', random })
  const reader = openReader({ redis })
  const { PRICES: prices, SAMPLE_RETENTION_DAYS: retentionDays } = config
  const writer = openWriter({ redis, prices, retentionDays, log: line => log.info(line) })
  const publishStatus = () => {
    writer
      .publishStatus(id, statusFields(state, clock.now(), version), STATUS_TTL_SECONDS)
      .catch(thrown => log.debug({ err: thrown }, 'status not published'))
  }
  const queue = new MinuteQueue({
    writer,
    clock,
    random,
    onWritten: publishStatus,
    onFatal: failure.fail,
    log: line => log.warn(line),
  })
  const state = newState(clock.now(), queue)
  const ops = await openOpsServer({
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    reasons: () => notReadyReasons(state),
    registry: createMetrics(state),
  })
  log.info({ opsPort: ops.port, id, version, redis: redis.target }, 'ingester started')

  const board = await boardOrNothing(redis, reader, log)
  const latest = new LatestTicks()
  const rest = openRestChild({
    upbitRestUrl: config.UPBIT_REST_URL,
    binanceRestUrl: config.BINANCE_REST_URL,
    log,
  })
  let feeds: ExchangeFeeds | undefined

  const admission = new Admission({ admit: config.ADMIT, deny: config.DENY })
  const follower = followCoins({
    admission,
    state,
    writer,
    onSubscribed: coins => {
      const onRefused = () => {
        state.counts.refusedTicks += 1
      }
      if (feeds) feeds.setCoins(coins)
      else feeds = openExchangeFeeds({ config, coins, latest, onRefused, clock, random, log })
      state.feeds = () => feeds?.status() ?? []
    },
    onFatal: failure.fail,
    log,
  })
  const catalogue = keepCoins({
    wanted: config.COINS,
    known: async () => (await boardOrNothing(redis, reader, log))?.coins,
    loadListings: rest.loadListings.bind(rest),
    onCatalogue: follower.follow,
    onProblem: problem => {
      state.catalogueProblem = problem
    },
    refreshMs,
    clock,
    random,
    signal,
    log,
  })
  const loop = ingest({
    clock,
    signal,
    latest,
    witness: witnessOf(board),
    coins: () => admission.subscribed,
    judge: follower.judge,
    store: (minute, samples, removed) => queue.enqueue({ minute, samples, removed }),
    onMinute: report => {
      countMinute(state, report)
      const { minute } = report.turn
      log.info(
        { minute, samples: report.admitted.length, gaps: report.gaps.length, late: report.turn.lateMs },
        'minute',
      )
      // What waits to be written publishes the status when it is.
      if (queue.depth === 0) publishStatus()
    },
  })

  const backfill =
    config.BACKFILL_DAYS === 0
      ? Promise.resolve()
      : runBackfill({
          coins: () => admission.tracked,
          untested: () => admission.untested,
          judge: follower.judge,
          days: config.BACKFILL_DAYS,
          state: state.backfill,
          reader,
          fetchCandles: (exchange, market, { start, end }) =>
            rest.minuteCandles(exchange, market, start, end, signal),
          write: async samples => {
            await writer.write({ minute: Math.max(...samples.map(sample => sample.minute)), samples })
          },
          lease: openLease(redis, BACKFILL_LEASE, id, BACKFILL_LEASE_MS),
          clock,
          random,
          signal,
          log,
        })
  for (const part of [catalogue, loop, backfill]) part.catch(failure.fail)

  return {
    opsPort: ops.port,
    failed: failure.failed,
    close: async () => {
      ending.abort()
      await Promise.allSettled([feeds?.close(), rest.close(), catalogue, loop, backfill])
      if (!(await queue.flush(FLUSH_WITHIN_MS)))
        log.error({ minutes: queue.depth }, 'ended with minutes that were not written')
      queue.close()
      await Promise.all([redis.close(), ops.close()])
    },
  }
}

/** A promise that only ever rejects, with the first failure it is told. */
function newFailure(): { failed: Promise<never>; fail: (thrown: unknown) => void } {
  let fail: (thrown: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  return { failed, fail }
}

async function boardOrNothing(
  redis: RedisConnection,
  reader: SampleReader,
  log: Logger,
): Promise<Board | undefined> {
  try {
    return (await redis.untilReady(REDIS_PATIENCE_MS)) ? await reader.readBoard() : undefined
  } catch (thrown) {
    log.info({ reason: messageOf(thrown) }, 'nothing could be read from Redis, going on without')
    return undefined
  }
}

/** The last stored samples are the first witnesses. */
function witnessOf(board: Board | undefined): Witness {
  const witness = new Witness()
  for (const { symbol, snapshot_at, premium_pct } of board?.rows ?? []) {
    const minute = parseTimestamp(snapshot_at)
    if (minute !== undefined) witness.remember(symbol, minute, Math.round(premium_pct * 10_000))
  }
  return witness
}
