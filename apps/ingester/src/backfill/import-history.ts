import { type Coin, type Context, KimchiError, messageOf, type Sample } from '@kimchi/core'
import { HttpError, matchCoins, openRestChild, type RestChild, retryDelay } from '@kimchi/feeds'
import { createReader, createWriter, type KnownCoin, type Lease, openRedis } from '@kimchi/store'
import type { Config } from '../config.ts'
import { giveBack, openBackfillLease } from './backfill-lease.ts'
import type { FetchCandles } from './candle-cache.ts'
import { batchOf, fillMissing, findNewestMinute } from './fill-missing.ts'
import { importDays } from './import-days.ts'

/** What importing history is called with. */
export interface ImportOptions {
  readonly config: Config
  /** Whole UTC days before today. */
  readonly days: number
  /** Names this process among others on the same Redis. */
  readonly id: string
  /** How far a phase is: minutes that samples are kept of, then whole days before them. */
  readonly onProgress: (phase: 'minutes' | 'days', done: number, total: number, symbol: string) => void
}

/**
 * Brings the history of the configured coins back to `days` before today: minutes where single samples are kept, whole days before
 * that. What is there already is not fetched again, so it may be stopped and started at any time.
 * @throws KimchiError `KIMCHI_ERR_REDIS` when Redis is not there, `KIMCHI_ERR_UNKNOWN_SYMBOL`, `KIMCHI_ERR_PRICES_KIND`,
 * `KIMCHI_ERR_GEO_BLOCKED`
 */
export async function importHistory(
  { config, days, id, onProgress }: ImportOptions,
  context: Context,
): Promise<void> {
  const { clock, random, signal, log } = context
  const { PRICES: prices, SAMPLE_RETENTION_DAYS: retentionDays } = config
  const redis = openRedis(config.REDIS_URL, { name: 'kimchi-backfill', random })
  const lease = openBackfillLease(redis, id)
  const rest = openRestChild(
    { upbitRestUrl: config.UPBIT_REST_URL, binanceRestUrl: config.BINANCE_REST_URL },
    { log },
  )
  try {
    if (!(await redis.untilReady(5_000, signal))) {
      const reason = redis.status().reason
      throw new KimchiError('KIMCHI_ERR_REDIS', `${reason}; start the service first, or set REDIS_URL`)
    }
    const writer = createWriter({ redis, prices, retentionDays, log })
    const write = async (samples: readonly Sample[]) => void (await writer.write(batchOf(samples)))
    const mayGoOn = () => untilClaimed(lease, context)
    const reader = createReader({ redis })
    const fetchCandles = patient(rest, context)
    // Also the check that this Redis holds prices of our kind, before anything is fetched.
    await write([])
    const { coins: known } = await reader.readBoard()
    const coins = admittedOf(await findCoins(rest, config, signal), known, config)
    // Asked for by hand, it comes first: ingesters keep the lease for as long as they live, and go on when it is given back.
    await lease.take()
    await fillMissing({
      coins,
      newest: await findNewestMinute(clock, fetchCandles),
      reader,
      fetchCandles,
      days: Math.min(days, retentionDays),
      settled: new Map(),
      mayGoOn,
      write,
      onProgress: ({ done, total, symbol }) => onProgress('minutes', done, total, symbol),
    })
    await importDays({
      coins,
      days,
      retentionDays,
      clock,
      reader,
      fetchCandles,
      mayGoOn,
      importDay: writer.importDay.bind(writer),
      onProgress: ({ done, total, symbol }) => onProgress('days', done, total, symbol),
    })
  } finally {
    await giveBack(lease, context)
    await Promise.all([rest.close(), redis.close()])
  }
}

async function findCoins(rest: RestChild, config: Config, signal: AbortSignal): Promise<readonly Coin[]> {
  const listings = await rest.loadListings(signal)
  return matchCoins({ ...listings, wanted: config.COINS }).coins
}

/** Of all coins only those that an ingester has admitted, once there are any; a coin that is asked for by name is no surprise. */
function admittedOf(
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
  lease: Lease,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<boolean> {
  while (!signal.aborted) {
    if (await lease.claim()) return true
    await clock.wait(1_000, signal)
  }
  return false
}

/** Tries again for as long as it takes, as slowly as an exchange asks for; only a region block is final. */
function patient(rest: RestChild, { clock, random, signal, log }: Context): FetchCandles {
  return async (exchange, market, { start, end }) => {
    for (let failures = 0; ; failures++) {
      try {
        return await rest.minuteCandles(exchange, market, start, end, signal)
      } catch (thrown) {
        const isFinal = thrown instanceof HttpError && thrown.code === 'KIMCHI_ERR_GEO_BLOCKED'
        if (signal.aborted || isFinal) throw thrown
        log.warn({ reason: messageOf(thrown) }, 'candles not fetched, will be tried again')
        await clock.wait(retryDelay(failures, random, thrown), signal)
      }
    }
  }
}
