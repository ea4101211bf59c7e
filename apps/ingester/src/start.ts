import {
  type Context,
  LatestTicks,
  MINUTE_MS,
  type Milliseconds,
  messageOf,
  type Sample,
  SpikeFilter,
} from '@kimchi/core'
import { RestClient, userAgentOf } from '@kimchi/feeds'
import { openOpsServer, type RunningApp } from '@kimchi/runtime'
import {
  type Board,
  isRetryable,
  MinuteQueue,
  openRedis,
  readServerHealth,
  SampleReader,
  SampleWriter,
} from '@kimchi/store'
import { BackfillLease } from './backfill/backfill-lease.ts'
import { Backfill } from './backfill/run-backfill.ts'
import { Quarantine } from './coins/quarantine.ts'
import { CatalogueRefresh } from './coins/refresh-catalogue.ts'
import { CoinTracking } from './coins/track-coins.ts'
import type { Config } from './config.ts'
import { statusFields } from './figures.ts'
import { createMetrics } from './metrics.ts'
import { ExchangeFeeds } from './minute/exchange-feeds.ts'
import { DayMending } from './minute/mend-days.ts'
import { countReasons, MinuteLoop, type MinuteReport } from './minute/minute-loop.ts'
import { type IngesterStatus, notesOf, notReadyReasons } from './status.ts'

/** How long a start waits for Redis; what it would read is only a head start. */
const REDIS_PATIENCE_MS: Milliseconds = 1_000

/** How long an end may spend on minutes that are not written yet. */
const FLUSH_WITHIN_MS: Milliseconds = 2_000

/** A minute is stored, or known as a gap, this long after it: its snapshot waits for the streams until M + 5 s. */
const ANNOUNCED_AFTER_MS: Milliseconds = 6_000

/** What an ingester is started with, besides its configuration. */
export interface IngesterOptions extends Omit<Context, 'signal'> {
  /** Names this ingester among others on the same Redis. */
  readonly id: string
  readonly version: string
  /** How often the exchanges' lists are loaded. @default an hour */
  readonly refreshMs?: Milliseconds
}

export interface Ingester extends RunningApp {
  readonly opsPort: number
}

/**
 * Starts an ingester: feeds → latest ticks → one snapshot per minute → Redis. Starts without Redis and
 * without the exchanges, and says so on `/ready` until it has both.
 */
export async function startIngester(config: Config, options: IngesterOptions): Promise<Ingester> {
  const { log, clock, random, id, version } = options
  const ending = new AbortController()
  const { failed, fail } = createFailure()
  const context: Context = { clock, random, log, signal: ending.signal }
  const startedAt = clock.now()
  const store = openStore(config, fail, context)
  const { redis, writer, queue } = store
  const userAgent = userAgentOf(version, config.PROJECT_URL)
  const rest = new RestClient(
    { upbit: config.UPBIT_REST_URL, binance: config.BINANCE_REST_URL, userAgent },
    context,
  )
  const parts = openParts(
    config,
    { ...store, rest, userAgent, id, fail, refreshMs: options.refreshMs },
    context,
  )
  const { catalogue, quarantine, feeds, minutes, backfill, mending } = parts
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
    mending: mending.status(),
  })
  const reasons = () => notReadyReasons(status(), clock.now())
  const redisHealth = () => readServerHealth(redis)
  const ops = await openOpsServer({
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    reasons,
    notes: () => notesOf(status()),
    metrics: createMetrics({ version, clock, status, reasons, redisHealth }),
  })
  log.info({ opsPort: ops.port, id, version, redis: redis.target }, 'ingester started')
  const announcing = announceEachMinute(writer, id, () => statusFields(status(), clock.now()), context)
  const filling = config.BACKFILL_DAYS === 0 ? [] : [backfill.run()]
  const running = [catalogue.run(), minutes.run(), mending.run(), announcing, ...filling]
  for (const part of running) part.catch(fail)

  return {
    opsPort: ops.port,
    failed,
    close: async () => {
      ending.abort()
      await Promise.allSettled([feeds.close(), ...running])
      if (!(await queue.flush(FLUSH_WITHIN_MS))) {
        log.error({ minutes: queue.status().waiting }, 'ended with minutes that were not written')
      }
      queue.close()
      await redis.close()
      await ops.close()
    },
  }
}

/** Redis, and what reads and writes it. */
function openStore(config: Config, fail: (thrown: unknown) => void, { clock, random, log }: Context) {
  const { PRICES: prices, SAMPLE_RETENTION_DAYS: retentionDays } = config
  const redis = openRedis(config.REDIS_URL, { name: 'kimchi-ingester', random })
  const writer = new SampleWriter({ redis, prices, retentionDays, log })
  const queue = new MinuteQueue({ writer, redis, clock, random, onFatal: fail, log })
  return { redis, reader: new SampleReader({ redis }), writer, queue }
}

/** What the parts of an ingester share. */
interface Shared extends ReturnType<typeof openStore> {
  readonly rest: RestClient
  readonly userAgent: string
  readonly id: string
  readonly fail: (thrown: unknown) => void
  readonly refreshMs: Milliseconds | undefined
}

/** The parts that run, each made from those before it: coins, backfill, the minute loop. */
function openParts(config: Config, shared: Shared, context: Context) {
  const { redis, reader, writer, queue, rest, userAgent, id, fail, refreshMs } = shared
  const { log } = context
  const readBoard = () => patientlyRead(shared, fail, context)
  const latest = new LatestTicks()
  const feeds = new ExchangeFeeds(
    { config, latest, rest, userAgent, onRefused: () => catalogue.refreshNow() },
    context,
  )
  const quarantine = new Quarantine({ allow: config.ALLOW, deny: config.DENY })
  const listRules = { order: config.COINS, denied: config.DENY }
  const tracking = new CoinTracking({
    ...{ quarantine, writer, listRules, log },
    onSubscribed: coins => feeds.setCoins(coins),
    onFatal: fail,
  })
  const catalogue: CatalogueRefresh = new CatalogueRefresh(
    {
      wanted: config.COINS,
      known: async () => (await readBoard())?.coins,
      fetchListings: () => rest.fetchListings(),
      onCatalogue: now => tracking.follow(now),
      refreshMs,
    },
    context,
  )
  const release = (samples: readonly Sample[]) => tracking.release(samples)
  const backfill = new Backfill(
    {
      ...{ quarantine, release, reader, writer, rest },
      days: config.BACKFILL_DAYS,
      upbitPerSecond: config.UPBIT_REQUESTS_PER_SECOND,
      lease: new BackfillLease(redis, id, context),
    },
    context,
  )
  const spikeFilter = new SpikeFilter()
  void readBoard().then(board => remember(spikeFilter, board))
  const onMinute = ({ turn: { minute, lateMs }, accepted, gaps, waiting }: MinuteReport) => {
    const reasons = Object.fromEntries(countReasons(gaps))
    log.info({ minute, samples: accepted.length, gaps: gaps.length, ...reasons, lateMs }, 'minute')
    backfill.noteMinute({
      minute,
      waiting: waiting.map(({ symbol }) => symbol),
      isClockWrong: gaps.some(({ reason }) => reason === 'clock-skew'),
    })
  }
  const minutes = new MinuteLoop({ latest, quarantine, release, spikeFilter, queue, onMinute }, context)
  const mending = new DayMending({ reader, writer, retentionDays: config.SAMPLE_RETENTION_DAYS }, context)
  return { catalogue, quarantine, feeds, minutes, backfill, mending }
}

/**
 * The board, or undefined while Redis can't be read. Refuses a Redis with the other kind of prices before the
 * first minute.
 */
async function patientlyRead(
  { redis, reader, writer }: Pick<Shared, 'redis' | 'reader' | 'writer'>,
  fail: (thrown: unknown) => void,
  { log }: Context,
): Promise<Board | undefined> {
  try {
    if (!(await redis.untilReady(REDIS_PATIENCE_MS))) return undefined
    await writer.verify()
    return await reader.readBoard()
  } catch (thrown) {
    if (!isRetryable(thrown)) fail(thrown)
    log.info({ reason: messageOf(thrown) }, 'could not read Redis; continuing without it')
    return undefined
  }
}

/** Starts the spike filter with the last stored samples. */
function remember(spikeFilter: SpikeFilter, board: Board | undefined): void {
  for (const { symbol, minute, premiumE4 } of board?.rows ?? []) {
    spikeFilter.remember(symbol, minute, premiumE4)
  }
}

/** Announces this ingester's coins and its status once a minute, when the minute has been written. */
async function announceEachMinute(
  writer: SampleWriter,
  id: string,
  fields: () => Record<string, string>,
  { clock, signal, log }: Context,
): Promise<void> {
  while (!signal.aborted) {
    writer.announce(id, fields()).catch(thrown => log.debug({ err: thrown }, 'status not written'))
    const sinceMs = (clock.now() - ANNOUNCED_AFTER_MS) % MINUTE_MS
    await clock.wait(MINUTE_MS - sinceMs, signal)
  }
}

/** A promise that never resolves, and rejects with the first failure. */
function createFailure(): { failed: Promise<never>; fail: (thrown: unknown) => void } {
  let fail: (thrown: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  return { failed, fail }
}
