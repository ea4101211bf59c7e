import {
  type Coin,
  type Context,
  DAY_MINUTES,
  dayStart,
  type EpochMinute,
  KimchiError,
  minuteOf,
} from '@kimchi/core'
import {
  createRestBases,
  HttpError,
  matchCoins,
  openRestChild,
  type RestChild,
  userAgentOf,
} from '@kimchi/feeds'
import {
  createReader,
  createWriter,
  type KnownCoin,
  openRedis,
  type SampleReader,
  type SampleWriter,
} from '@kimchi/store'
import packageJson from '../../package.json' with { type: 'json' }
import type { Config } from '../config.ts'
import { type BackfillLease, giveBack, openBackfillLease } from './backfill-lease.ts'
import { createCandleRequests } from './candle-requests.ts'
import { importDays } from './import-days.ts'
import { type ImportWindow, type ImportWindowsOptions, importWindows } from './import-windows.ts'
import { CANDLE_GRACE_MS, findNewestMinute } from './newest-minute.ts'
import { intersectRanges, minutesOf } from './ranges.ts'
import { createSkippedDays, type Skipped } from './skipped-days.ts'

/** What importing history is called with. */
export interface ImportOptions {
  readonly config: Config
  /** Whole UTC days before today. */
  readonly days: number
  /** Names this process among others on the same Redis. */
  readonly id: string
  /** Multiplies the request rate, for exchanges whose limits are higher. @default 1 */
  readonly speed?: number
  /** How far a phase is: minutes that samples are kept of, then whole days before them. */
  readonly onProgress: (phase: 'minutes' | 'days', done: number, total: number, symbol: string) => void
}

/**
 * Brings the history of the configured coins back to `days` before today: minutes where single samples are
 * kept, whole days before that. What is there already is not fetched again, so it may be stopped and started
 * at any time.
 * @returns what could not be imported, and why
 * @throws KimchiError `KIMCHI_ERR_REDIS` when Redis is not there, `KIMCHI_ERR_UNKNOWN_SYMBOL`,
 * `KIMCHI_ERR_PRICES_KIND`, `KIMCHI_ERR_GEO_BLOCKED`
 */
export async function importHistory(
  { config, days, id, onProgress, speed = 1 }: ImportOptions,
  context: Context,
): Promise<readonly Skipped[]> {
  const { random, signal, log, clock } = context
  const { PRICES: prices, SAMPLE_RETENTION_DAYS: retentionDays } = config
  const redis = openRedis(config.REDIS_URL, { name: 'kimchi-backfill', random })
  const lease = openBackfillLease(redis, id)
  const bases = createRestBases(config.UPBIT_REST_URL, config.BINANCE_REST_URL, context)
  const userAgent = userAgentOf(packageJson.version, config.PROJECT_URL)
  const rest = openRestChild({ bases, userAgent, speed }, { log })
  try {
    if (!(await redis.untilReady(5_000, signal))) {
      const { reason } = redis.status()
      throw new KimchiError('KIMCHI_ERR_REDIS', `${reason}; start the service first, or set REDIS_URL`)
    }
    const writer = createWriter({ redis, prices, retentionDays, log })
    const reader = createReader({ redis })
    await writer.verify()
    const { coins: known } = await reader.readBoard()
    const coins = publishedOf(await findCoins(rest, config, signal), known, config)
    // Asked for by hand, it comes first: ingesters leave its coins alone until they are given back.
    await lease.takeOver()
    const candleRequests = createCandleRequests(
      (exchange, market, { start, end }) =>
        rest.candlePage({ exchange, market, from: start, to: end }, signal),
      context,
      isGeoBlocked,
    )
    const skipped = createSkippedDays()
    const shared = {
      coins,
      reader,
      writer,
      skipped,
      fetchPage: candleRequests.fetchPage,
      mayGoOn: () => untilClaimed(lease, coins, context),
      isFinal: isGeoBlocked,
    }
    const newest = await findNewestMinute(minuteOf(clock.now() - CANDLE_GRACE_MS), candleRequests.fetchPage)
    const start = dayStart(newest) - Math.min(days, retentionDays) * DAY_MINUTES
    await importMinutes(
      { ...shared, start, newest, onProgress: onProgress.bind(undefined, 'minutes') },
      context,
    )
    await importDays(
      { ...shared, days, retentionDays, onProgress: onProgress.bind(undefined, 'days') },
      context,
    )
    return skipped.list()
  } finally {
    await giveBack(lease, context)
    await Promise.all([rest.close(), redis.close()])
  }
}

interface ImportMinutesOptions extends Omit<ImportWindowsOptions, 'store' | 'onDone'> {
  readonly coins: readonly Coin[]
  readonly reader: Pick<SampleReader, 'readUnstoredMinutes'>
  readonly writer: Pick<SampleWriter, 'write'>
  readonly start: EpochMinute
  readonly newest: EpochMinute
  readonly onProgress: (done: number, total: number, symbol: string) => void
}

/** Minutes of which single samples are kept, a UTC day of a coin at a time. */
async function importMinutes(options: ImportMinutesOptions, context: Context): Promise<void> {
  const { coins, reader, writer, start, newest, onProgress } = options
  const windows: ImportWindow[] = []
  for (const coin of coins) {
    const missing = await reader.readUnstoredMinutes(coin.symbol, start, newest + 1)
    for (let day = start; day <= newest; day += DAY_MINUTES) {
      const minutes = intersectRanges(missing, { start: day, end: day + DAY_MINUTES }).flatMap(minutesOf)
      if (minutes.length > 0) windows.push({ coin, minutes })
    }
  }
  const total = windows.reduce((sum, { minutes }) => sum + minutes.length, 0)
  let done = 0
  await importWindows(
    windows,
    {
      ...options,
      store: async ({ minutes }, { samples }) => {
        await writer.write({ minute: minutes.at(-1) ?? 0, samples })
      },
      onDone: ({ coin, minutes }) => {
        done += minutes.length
        onProgress(done, total, coin.symbol)
      },
    },
    context,
  )
}

async function findCoins(rest: RestChild, config: Config, signal: AbortSignal): Promise<readonly Coin[]> {
  const listings = await rest.loadListings(signal)
  return matchCoins({ ...listings, wanted: config.COINS }).coins
}

/**
 * Of all coins only those that an ingester publishes, once there are any; a coin that is asked for by name is
 * no surprise.
 */
function publishedOf(
  coins: readonly Coin[],
  known: readonly KnownCoin[],
  { COINS: wanted, DENY: deny }: Config,
): readonly Coin[] {
  const tracked = new Set(known.filter(({ order }) => order !== undefined).map(({ symbol }) => symbol))
  const takesAll = wanted !== 'all' || tracked.size === 0
  return coins.filter(({ symbol }) => (takesAll || tracked.has(symbol)) && !deny.includes(symbol))
}

/** Another import that began later comes first: both would only share the same request limit. */
async function untilClaimed(
  lease: BackfillLease,
  coins: readonly Coin[],
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<boolean> {
  const symbols = coins.map(({ symbol }) => symbol)
  while (!signal.aborted) {
    if ((await lease.claim(symbols)).size === coins.length) return true
    await clock.wait(1_000, signal)
  }
  return false
}

/** A region does not change while somebody waits for an import. */
function isGeoBlocked(thrown: unknown): boolean {
  return thrown instanceof HttpError && thrown.code === 'KIMCHI_ERR_GEO_BLOCKED'
}
