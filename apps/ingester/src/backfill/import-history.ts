import { type Coin, type Context, KimchiError } from '@kimchi/core'
import {
  createRestBases,
  HttpError,
  matchCoins,
  openRestChild,
  type RestChild,
  userAgentOf,
} from '@kimchi/feeds'
import { type KnownCoin, openRedis, SampleReader, SampleWriter } from '@kimchi/store'
import type { Config } from '../config.ts'
import { giveBack, openBackfillLease } from './backfill-lease.ts'
import { CandleRequests } from './candle-requests.ts'
import { HistoryImport, type Skipped } from './import-days.ts'

/** What importing history is called with. */
export interface ImportOptions {
  readonly config: Config
  /** Whole UTC days before today. */
  readonly days: number
  /** Names this process among others on the same Redis. */
  readonly id: string
  readonly version: string
  /** Multiplies the pace, for exchanges whose limits are higher. @default 1 */
  readonly speed?: number
  /** How far it is, in days of one coin. */
  readonly onProgress: (done: number, total: number, symbol: string) => void
}

/**
 * Brings the history of the configured coins back to `days` before today: minutes where single samples are
 * kept, whole days before that. What is there already is not fetched again, so it may be stopped and started
 * at any time.
 * @returns what could not be imported, and why
 * @throws KimchiError `KIMCHI_ERR_REDIS` when Redis is not there, `KIMCHI_ERR_UNKNOWN_SYMBOL` when it would
 * have no coin, `KIMCHI_ERR_PRICES_KIND`, `KIMCHI_ERR_GEO_BLOCKED`
 */
export async function importHistory(
  { config, days, id, version, onProgress, speed = 1 }: ImportOptions,
  context: Context,
): Promise<readonly Skipped[]> {
  const { random, signal, log } = context
  const { PRICES: prices, SAMPLE_RETENTION_DAYS: retentionDays } = config
  const redis = openRedis(config.REDIS_URL, { name: 'kimchi-backfill', random })
  const lease = openBackfillLease(redis, id)
  const bases = createRestBases(config.UPBIT_REST_URL, config.BINANCE_REST_URL, context)
  const userAgent = userAgentOf(version, config.PROJECT_URL)
  const rest = openRestChild({ bases, userAgent, speed }, { log })
  try {
    if (!(await redis.untilReady(5_000, signal))) {
      const { reason } = redis.status()
      throw new KimchiError('KIMCHI_ERR_REDIS', `${reason}; start the service first, or set REDIS_URL`)
    }
    const writer = new SampleWriter({ redis, prices, retentionDays, log })
    const reader = new SampleReader({ redis })
    // Whether this Redis holds prices of our kind, before anything is fetched.
    await writer.verify()
    const tracked = (await reader.readBoard()).coins.filter(({ order }) => order !== undefined)
    const coins = await findCoins(rest, tracked, config, context)
    // Asked for by hand, it comes first: ingesters leave its coins alone until they are given back.
    await lease.takeOver()
    // What an ingester tracks, it may ask for at the same time.
    const upbitPerSecond = config.UPBIT_REQUESTS_PER_SECOND / (tracked.length > 0 ? 2 : 1)
    const requests = new CandleRequests(
      {
        fetchPage: (exchange, market, { start, end }) =>
          rest.candlePage({ exchange, market, from: start, to: end }, signal),
        upbitPerSecond,
        speed,
        isFinal: isGeoBlocked,
      },
      context,
    )
    return await new HistoryImport(
      { coins, days, retentionDays, reader, writer, lease, requests, isFinal: isGeoBlocked, onProgress },
      context,
    ).run()
  } finally {
    await giveBack(lease, context)
    await Promise.all([rest.close(), redis.close()])
  }
}

/**
 * The coins that are asked for by name; of all coins only those that an ingester publishes, once there are
 * any. One that has left the exchanges is left out.
 */
async function findCoins(
  rest: RestChild,
  tracked: readonly KnownCoin[],
  { COINS: wanted, DENY: deny }: Config,
  { signal, log }: Context,
): Promise<readonly Coin[]> {
  const { coins, leftOut, unknown } = matchCoins({
    ...(await rest.loadListings(signal)),
    wanted,
    strict: false,
  })
  if (wanted !== 'all') {
    for (const { symbol, reason } of leftOut) log.warn({ reason: `${symbol}: ${reason}` }, 'coin left out')
    for (const symbol of unknown) log.warn({ reason: `${symbol}: not on Upbit in KRW` }, 'coin left out')
  }
  if (coins.length === 0)
    throw new KimchiError('KIMCHI_ERR_UNKNOWN_SYMBOL', 'COINS must name a coin of both exchanges, got: none')
  const published = new Set(tracked.map(({ symbol }) => symbol))
  const takesAll = wanted !== 'all' || tracked.length === 0
  return coins.filter(({ symbol }) => (takesAll || published.has(symbol)) && !deny.includes(symbol))
}

/** A region does not change while somebody waits for an import. */
function isGeoBlocked(thrown: unknown): boolean {
  return thrown instanceof HttpError && thrown.code === 'KIMCHI_ERR_GEO_BLOCKED'
}
