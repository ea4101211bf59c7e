import { type Coin, type Context, LatestTicks, type Milliseconds, messageOf, SpikeFilter } from '@kimchi/core'
import { createRestBases, openRestChild, userAgentOf } from '@kimchi/feeds'
import { openOpsServer, type RunningApp } from '@kimchi/runtime'
import {
  type Board,
  createReader,
  createWriter,
  isRetryable,
  MinuteQueue,
  openRedis,
  type RedisConnection,
  readServerHealth,
  type SampleReader,
  type SampleWriter,
} from '@kimchi/store'
import { openBackfillLease } from './backfill/backfill-lease.ts'
import type { KnownMinute } from './backfill/hole-finder.ts'
import { createBackfill } from './backfill/run-backfill.ts'
import { Quarantine } from './coins/quarantine.ts'
import { CatalogueRefresh } from './coins/refresh-catalogue.ts'
import { CoinTracking } from './coins/track-coins.ts'
import type { Config } from './config.ts'
import { createMetrics } from './metrics.ts'
import { openExchangeFeeds } from './minute/exchange-feeds.ts'
import { createMinuteLoop, type MinuteReport } from './minute/minute-loop.ts'
import { type IngesterStatus, notesOf, notReadyReasons, statusFields } from './status.ts'

/** How long a start waits for Redis before it goes on without; what it would read is only a head start. */
const REDIS_PATIENCE_MS: Milliseconds = 1_000

/** How long an end may spend on minutes that are not written yet. */
const FLUSH_WITHIN_MS: Milliseconds = 2_000

/** Lost day rows come back within twice this time. */
const REPAIR_EVERY_MINUTES = 5

/** Backfill is told of this many minutes that were passed over; it finds older ones by itself. */
const MAX_PASSED_OVER = 10

/** What an ingester gets from the outside, besides its configuration. */
export interface IngesterOptions extends Omit<Context, 'signal'> {
  /** Names this ingester among others on the same Redis. */
  readonly id: string
  readonly version: string
  /** How often the exchanges' lists are loaded. @default an hour */
  readonly refreshMs?: Milliseconds
}

/** A started ingester. */
export interface Ingester extends RunningApp {
  readonly opsPort: number
}

/**
 * Starts an ingester: feeds → latest ticks → one snapshot per minute → Redis. Starts without Redis and
 * without the exchanges, and says so on `/ready` until it has both.
 */
export async function startIngester(config: Config, options: IngesterOptions): Promise<Ingester> {
  const { log, clock, random, id, version, refreshMs } = options
  const ending = new AbortController()
  const { failed, fail } = createFailure()
  const context: Context = { clock, random, log, signal: ending.signal }
  const startedAt = clock.now()

  const redis = openRedis(config.REDIS_URL, { name: 'kimchi-ingester', random })
  const reader = createReader({ redis })
  const writer = openWriter(config, redis, context)
  const readBoard = () => patientlyRead(redis, reader, context)
  const publishStatus = () => {
    writer
      .announce(id, statusFields(status(), clock.now()))
      .catch(thrown => log.debug({ err: thrown }, 'status not published'))
  }
  const queue = new MinuteQueue({
    writer,
    redis,
    clock,
    random,
    onWritten: publishStatus,
    onFatal: fail,
    log,
  })

  const restBases = createRestBases(config.UPBIT_REST_URL, config.BINANCE_REST_URL, context)
  const userAgent = userAgentOf(version, config.PROJECT_URL)
  const rest = openRestChild({ bases: restBases, userAgent }, { log })
  const latest = new LatestTicks()
  const feeds = openExchangeFeeds(
    { config, latest, restBases, userAgent, rest, onRefusedMarkets: () => catalogue.refreshNow() },
    context,
  )
  const quarantine = new Quarantine({ allow: config.ALLOW, deny: config.DENY })
  const tracking = new CoinTracking({
    quarantine,
    writer,
    listing: { order: config.COINS, denied: config.DENY },
    onSubscribed: feeds.setCoins,
    onFatal: fail,
    log,
  })
  const catalogue = new CatalogueRefresh(
    {
      wanted: config.COINS,
      known: async () => (await readBoard())?.coins,
      loadListings: signal => rest.loadListings(signal),
      onCatalogue: now => tracking.follow(now),
      refreshMs,
    },
    context,
  )

  const spikeFilter = new SpikeFilter()
  void readBoard().then(board => remember(spikeFilter, board))
  const onMinute = (report: MinuteReport) => {
    const { turn, accepted, gaps } = report
    const { minute, lateMs } = turn
    log.info({ minute, samples: accepted.length, gaps: gaps.length, lateMs }, 'minute')
    for (const known of knownOf(report, quarantine.tracked)) backfill.learn(known)
    if (minute % REPAIR_EVERY_MINUTES === 0) {
      writer.repairDays().catch(thrown => log.debug({ err: thrown }, 'day rows not checked'))
    }
    // What waits to be written publishes the status when it is.
    if (queue.status().waiting === 0) publishStatus()
  }
  const minutes = createMinuteLoop({ latest, quarantine, spikeFilter, queue, tracking, onMinute }, context)
  const backfill = createBackfill(
    {
      quarantine,
      tracking,
      days: config.BACKFILL_DAYS,
      reader,
      writer,
      fetchPage: (exchange, market, { start, end }) =>
        rest.candlePage({ exchange, market, from: start, to: end }, ending.signal),
      lease: openBackfillLease(redis, id),
    },
    context,
  )

  const status = (): IngesterStatus => ({
    version,
    startedAt,
    catalogue: catalogue.status(),
    quarantine: quarantine.status(),
    tracked: quarantine.tracked.length,
    feeds: feeds.status(),
    minutes: minutes.status(),
    queue: queue.status(),
    backfill: backfill.status(),
  })
  const ops = await openOpsServer({
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    reasons: () => notReadyReasons(status(), clock.now()),
    notes: () => notesOf(status()),
    metrics: createMetrics({ version, clock, status, redisHealth: () => readServerHealth(redis) }),
  })
  log.info({ opsPort: ops.port, id, version, redis: redis.target }, 'ingester started')
  refuseOtherPrices(redis, writer, fail)
  const running = [catalogue.run(), minutes.run(), ...(config.BACKFILL_DAYS === 0 ? [] : [backfill.run()])]
  for (const part of running) part.catch(fail)

  return {
    opsPort: ops.port,
    failed,
    close: async () => {
      ending.abort()
      await Promise.allSettled([feeds.close(), rest.close(), ...running])
      if (!(await queue.flush(FLUSH_WITHIN_MS))) {
        log.error({ minutes: queue.status().waiting }, 'ended with minutes that were not written')
      }
      queue.close()
      await redis.close()
      await ops.close()
    },
  }
}

function openWriter(config: Config, redis: RedisConnection, { log }: Context): SampleWriter {
  const { PRICES: prices, SAMPLE_RETENTION_DAYS: retentionDays } = config
  return createWriter({ redis, prices, retentionDays, log })
}

/** The board, or undefined where Redis can't be asked now. */
async function patientlyRead(
  redis: RedisConnection,
  reader: SampleReader,
  { log }: Context,
): Promise<Board | undefined> {
  try {
    return (await redis.untilReady(REDIS_PATIENCE_MS)) ? await reader.readBoard() : undefined
  } catch (thrown) {
    log.info({ reason: messageOf(thrown) }, 'nothing could be read from Redis, going on without')
    return undefined
  }
}

/** A Redis that holds the other kind of prices is refused now, not at the first minute. */
function refuseOtherPrices(
  redis: RedisConnection,
  writer: SampleWriter,
  fail: (thrown: unknown) => void,
): void {
  void redis
    .untilReady(REDIS_PATIENCE_MS)
    .then(() => writer.verify())
    .catch(thrown => {
      if (!isRetryable(thrown)) fail(thrown)
    })
}

/** The spike filter begins with the last stored samples. */
function remember(spikeFilter: SpikeFilter, board: Board | undefined): void {
  for (const { symbol, minute, premiumE4 } of board?.rows ?? []) {
    spikeFilter.remember(symbol, minute, premiumE4)
  }
}

/**
 * What a minute tells backfill: gaps but for halts, spikes of the minute before, and minutes that were passed
 * over.
 */
function knownOf(report: MinuteReport, tracked: readonly Coin[]): KnownMinute[] {
  const { turn, gaps, dropped } = report
  const symbolsOf = (list: readonly { readonly symbol: string }[]) => list.map(({ symbol }) => symbol)
  const passedOver = Array.from({ length: Math.min(turn.skipped, MAX_PASSED_OVER) }, (_, back) => ({
    minute: turn.minute - 1 - back,
    missing: symbolsOf(tracked),
  }))
  const spikes = dropped.map(({ minute, symbol }) => ({ minute, missing: [symbol] }))
  const missing = gaps.filter(({ reason }) => reason !== 'halted')
  return [...passedOver, ...spikes, { minute: turn.minute, missing: symbolsOf(missing) }]
}

/** A promise that only ever rejects, with the first failure it is told. */
function createFailure(): { failed: Promise<never>; fail: (thrown: unknown) => void } {
  let fail: (thrown: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  return { failed, fail }
}
