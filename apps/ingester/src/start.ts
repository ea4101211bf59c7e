import {
  type Context,
  DAY_MINUTES,
  LatestTicks,
  type Milliseconds,
  messageOf,
  minuteOf,
  SpikeFilter,
} from '@kimchi/core'
import { type OpenSocket, RestClient, userAgentOf } from '@kimchi/feeds'
import { openOpsServer, type RunningApp } from '@kimchi/runtime'
import {
  type ConnectOptions,
  isRetryable,
  type KnownCoin,
  MinuteQueue,
  openRedis,
  readServerHealth,
  SampleReader,
  SampleWriter,
} from '@kimchi/store'
import { Backfill } from './backfill/run-backfill.ts'
import { Quarantine } from './coins/quarantine.ts'
import { CatalogueRefresh, type PublishedCoin } from './coins/refresh-catalogue.ts'
import { CoinTracking } from './coins/track-coins.ts'
import type { Config } from './config.ts'
import { createMetrics } from './metrics.ts'
import { ExchangeFeeds } from './minute/exchange-feeds.ts'
import { DayMending } from './minute/mend-days.ts'
import { MinuteLoop, type MinuteReport } from './minute/minute-loop.ts'
import { notesOf, notReadyReasons } from './readiness.ts'
import { type IngesterStatus, statusFields } from './status.ts'

/** How long a start waits for Redis before it goes on without the coins and rows stored there. */
const REDIS_PATIENCE_MS: Milliseconds = 2_000

/** How long a shutdown, or an announcement, waits for minutes that are not written yet. */
const FLUSH_WITHIN_MS: Milliseconds = 2_000

export interface IngesterOptions extends Omit<Context, 'signal'> {
  /** Names this ingester among others on the same Redis. */
  readonly id: string
  readonly version: string
  /** How often the exchanges' lists are fetched. @default an hour */
  readonly refreshMs?: Milliseconds
  /** How it reaches the exchanges and Redis. @default by real sockets */
  readonly network?: Network
}

/** Everything by which an ingester reaches others. */
export interface Network {
  readonly openSocket: OpenSocket
  readonly fetch: typeof fetch
  readonly redis: Pick<ConnectOptions, 'openClient' | 'wait'>
}

export interface Ingester extends RunningApp {
  readonly opsPort: number
}

/**
 * Starts an ingester: feeds → latest ticks → one snapshot per minute → Redis. Starts without Redis and
 * without the exchanges, and says so on `/ready` until it has both.
 */
export async function startIngester(config: Config, options: IngesterOptions): Promise<Ingester> {
  const { log, clock, random, id, version, refreshMs, network } = options
  const { COINS: wanted, ALLOW: allow, DENY: deny, SAMPLE_RETENTION_DAYS: retentionDays } = config
  const startedAt = clock.now()
  const ending = new AbortController()
  const context: Context = { clock, random, log, signal: ending.signal }
  let fail: (thrown: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })

  const redis = openRedis(config.REDIS_URL, { name: 'kimchi-ingester', random, ...network?.redis })
  const reader = new SampleReader({ redis })
  const writer = new SampleWriter({
    redis,
    prices: config.PRICES,
    retentionDays,
    order: wanted,
    denied: deny,
    log,
  })
  const queue = new MinuteQueue({ writer, clock, random, onFatal: fail, log })
  redis.onChange(problem => {
    if (problem === undefined) queue.sendAgain('Redis is connected again')
  })
  const spikeFilter = new SpikeFilter()
  /** Notes of a coin that nobody tracks whether a day within the retention has a row of it. */
  const markForgotten = async (coin: KnownCoin): Promise<PublishedCoin> => {
    if (coin.order !== undefined) return { ...coin, isForgotten: false }
    const days = await reader.readDays(coin.symbol).catch(() => undefined)
    const { lastMinute = Number.NEGATIVE_INFINITY } = days?.entries.at(-1) ?? {}
    return { ...coin, isForgotten: lastMinute < minuteOf(clock.now()) - retentionDays * DAY_MINUTES }
  }
  /**
   * The coins in Redis, whose last rows the spike filter remembers; undefined while Redis can't be read. A Redis that
   * holds the other kind of PRICES ends the ingester.
   */
  const readPublished = async () => {
    try {
      if (!(await redis.untilReady(REDIS_PATIENCE_MS))) return undefined
      await writer.verify()
      const { coins, rows } = await reader.readBoard()
      for (const { symbol, minute, premiumE4 } of rows) spikeFilter.remember(symbol, minute, premiumE4)
      return await Promise.all(coins.map(markForgotten))
    } catch (thrown) {
      if (!isRetryable(thrown)) fail(thrown)
      log.info({ reason: messageOf(thrown) }, 'could not read Redis; continuing without it')
      return undefined
    }
  }

  const userAgent = userAgentOf(version, config.PROJECT_URL)
  const restBases = { upbit: config.UPBIT_REST_URL, binance: config.BINANCE_REST_URL }
  const rest = new RestClient({ ...restBases, userAgent, fetch: network?.fetch }, context)
  const latest = new LatestTicks()
  const onRefused = () => catalogue.refreshNow()
  const feeds = new ExchangeFeeds(
    { config, latest, rest, userAgent, openSocket: network?.openSocket, onRefused },
    context,
  )

  const quarantine = new Quarantine({ allow, deny, onJudged: () => tracking.announce() })
  const tracking = new CoinTracking({ quarantine, writer, log })
  const catalogue: CatalogueRefresh = new CatalogueRefresh(
    {
      wanted,
      readPublished,
      fetchListings: () => rest.fetchListings(),
      onCatalogue: now => {
        quarantine.follow(now)
        feeds.setCoins(quarantine.subscribed)
      },
      refreshMs,
    },
    context,
  )

  const backfill = new Backfill(
    {
      quarantine,
      days: config.BACKFILL_DAYS,
      reader,
      writer,
      rest,
      upbitPerSecond: config.UPBIT_REQUESTS_PER_SECOND,
    },
    context,
  )
  const onMinute = ({ turn: { minute }, gaps, waiting }: MinuteReport) => {
    const isClockWrong = gaps.some(({ reason }) => reason === 'clock-skew')
    backfill.noteMinute({ minute, waiting: waiting.map(({ symbol }) => symbol), isClockWrong })
    announce().catch(fail)
  }
  const minutes = new MinuteLoop({ latest, quarantine, spikeFilter, queue, onMinute }, context)
  const mending = new DayMending({ reader, writer, retentionDays }, context)

  const status = (): IngesterStatus => ({
    at: clock.now(),
    version,
    startedAt,
    catalogue: catalogue.status(),
    quarantine: quarantine.status(),
    feeds: feeds.status(),
    minutes: minutes.status(),
    queue: queue.status(),
    backfill: backfill.status(),
    mending: mending.status(),
  })
  /** Tells Redis of this ingester's coins and its status, once a minute when that minute has been written. */
  const announce = async () => {
    await queue.flush(FLUSH_WITHIN_MS)
    const announced = writer.announce(id, statusFields(status()))
    await announced.catch(thrown => log.debug({ err: thrown }, 'status not written'))
  }
  const ops = await openOpsServer({
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    reasons: () => notReadyReasons(status()),
    notes: () => notesOf(status()),
    metrics: createMetrics({ version, status, redisHealth: () => readServerHealth(redis) }),
  })
  log.info({ opsPort: ops.port, id, version, redis: redis.target }, 'ingester started')
  announce().catch(fail)
  const filling = config.BACKFILL_DAYS === 0 ? [] : [backfill.run()]
  const running = [catalogue.run(), minutes.run(), mending.run(), ...filling]
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
