import { setMaxListeners } from 'node:events'
import { type Coin, type Context, LatestTicks, type Milliseconds, messageOf } from '@kimchi/core'
import { createDoors, type DoorOptions, RestClient } from '@kimchi/feeds'
import { openOpsServer, type RunningApp } from '@kimchi/runtime'
import {
  type ConnectOptions,
  isRetryable,
  MinuteQueue,
  openRedis,
  readServerHealth,
  SampleReader,
  SampleWriter,
} from '@kimchi/store'
import { Backfill } from './backfill/run-backfill.ts'
import { CoinsWithoutRows } from './coins/coins-without-rows.ts'
import { Quarantine } from './coins/quarantine.ts'
import { CatalogueRefresh } from './coins/refresh-catalogue.ts'
import { type Config, doorSettings } from './config.ts'
import { statusFields } from './figures.ts'
import { createMetrics } from './metrics.ts'
import { ExchangeFeeds } from './minute/exchange-feeds.ts'
import { DayMending } from './minute/mend-days.ts'
import { MinuteLoop, type MinuteReport } from './minute/minute-loop.ts'
import { notesOf, notReadyReasons } from './readiness.ts'
import type { IngesterStatus } from './status.ts'

/** How long a start waits for Redis before it goes on without the coins and rows stored there. */
const REDIS_READY_WITHIN_MS: Milliseconds = 2_000

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
  readonly openSocket: NonNullable<DoorOptions['openSocket']>
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
  const { ALLOW: allow, DENY: deny } = config
  const ending = new AbortController()
  // The requests and waits of all coins listen to it.
  setMaxListeners(0, ending.signal)
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
    retentionDays: config.SAMPLE_RETENTION_DAYS,
    order: config.COINS,
    denied: deny,
    log,
  })
  const queue = new MinuteQueue({ writer, clock, random, onFatal: fail, log })
  const { fetch, openSocket } = network ?? {}
  const doors = createDoors({ ...doorSettings(config, version), fetch, openSocket }, context)
  const rest = new RestClient(doors)
  const latest = new LatestTicks()
  const onRefused = () => catalogue.refreshNow()
  const feeds = new ExchangeFeeds({ latest, doors, rest, onRefused }, context)
  /** The coins in Redis; undefined while it can't be read. */
  const readPublished = async () => {
    try {
      if (!(await redis.untilReady(REDIS_READY_WITHIN_MS))) return undefined
      // A Redis with the other kind of prices ends the ingester.
      await writer.verify()
      return (await reader.readBoard()).coins
    } catch (thrown) {
      if (!isRetryable(thrown)) fail(thrown)
      log.info({ reason: messageOf(thrown) }, 'could not read Redis; continuing without it')
      return undefined
    }
  }

  // Where that fails, the writer sends the coins with the next minute.
  const onTracked = (coins: readonly Coin[]) => {
    backfill.follow(coins)
    writer.track(coins).catch(thrown => log.debug({ err: thrown }, 'coins not tracked'))
  }
  const quarantine = new Quarantine({ allow, deny, onTracked })
  const withoutRows = new CoinsWithoutRows()
  const catalogue: CatalogueRefresh = new CatalogueRefresh(
    {
      wanted: config.COINS,
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
      days: config.BACKFILL_DAYS,
      reader,
      writer,
      rest,
      upbitPerSecond: config.UPBIT_REQUESTS_PER_SECOND,
      onStored: samples => withoutRows.noteStored(samples),
    },
    context,
  )
  redis.onChange(problem => {
    if (problem !== undefined) return
    queue.sendAgain('Redis is connected again')
    backfill.readAgain()
  })
  const onMinute = (report: MinuteReport) => {
    withoutRows.noteMinute(report, quarantine.status().quarantined)
    backfill.noteMinute(report)
    announce().catch(fail)
  }
  const minutes = new MinuteLoop({ latest, quarantine, queue, onMinute }, context)
  const mending = new DayMending({ reader, writer }, context)

  const status = (): IngesterStatus => ({
    at: clock.now(),
    version,
    catalogue: catalogue.status(),
    quarantine: quarantine.status(),
    heldBack: withoutRows.status(),
    doors: [doors.upbit.status(), doors.binance.status()],
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
      if (!(await queue.close(FLUSH_WITHIN_MS))) {
        log.error({ minutes: queue.status().waiting }, 'ended with minutes that were not written')
      }
      await redis.close()
      await ops.close()
    },
  }
}
