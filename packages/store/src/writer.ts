import {
  type Coin,
  type Day,
  type EpochMinute,
  KimchiError,
  type Log,
  type PricesKind,
  type Sample,
} from '@kimchi/core'
import { encodeSample } from './codec.ts'
import { ingesterKey, LAYOUT_VERSION } from './keys.ts'
import { functionCall, LIBRARY_VERSION, type LibraryFunction, loadLibrary } from './library.ts'
import { formatLiveRow } from './live-row.ts'
import type { RedisArgument, RedisConnection } from './redis/connect.ts'

/** Samples per function call: a call stops Redis for everyone, for a few ms at this size. A live minute is one call. */
const SAMPLES_PER_CALL = 2_000

/** What is written in one go: usually one minute of all coins, in backfill many minutes. */
export interface SampleBatch {
  /** The newest minute it is about; a removed coin's live row goes when it is older than this. */
  readonly minute: EpochMinute
  readonly samples: readonly Sample[]
  /** Symbols that leave the live list: halted, delisted, no longer tracked. */
  readonly removed?: readonly string[]
}

/** What became of a batch. Stored + duplicates + refused = its samples. */
export interface WriteResult {
  readonly stored: number
  /** Their minute had a sample already; the first stored wins whole. */
  readonly duplicates: number
  /** Their UTC day has expired, or is partly gone, and must not be counted again. */
  readonly refused: number
  /** Live rows taken out. */
  readonly removed: number
}

/** How a writer is opened. */
export interface WriterOptions {
  readonly redis: RedisConnection
  /** Kind of the prices; a Redis that holds the other kind refuses every write. */
  readonly prices: PricesKind
  /** Whole UTC days that single samples are kept. */
  readonly retentionDays: number
  readonly log: Log
}

/**
 * The only way into Redis. Each method resolves when Redis has confirmed.
 *
 * All methods throw KimchiError: `KIMCHI_ERR_REDIS` and `KIMCHI_ERR_NOT_READY` may be tried again (`isRetryable`),
 * `KIMCHI_ERR_PRICES_KIND` and `KIMCHI_ERR_LAYOUT` are final, `KIMCHI_ERR_CODEC` blames the argument.
 */
export interface SampleWriter {
  /**
   * Makes these coins, in this order, tracked ones; kept up by itself when Redis lost it.
   * @param departed the coins that are no longer tracked; all others stay as another writer has left them.
   * Without it every coin that is not given departs
   */
  track(coins: readonly Coin[], departed?: Iterable<string>): Promise<void>
  /** Writes samples; safe to repeat, in any order, from several writers at once. */
  write(batch: SampleBatch): Promise<WriteResult>
  /** Writes a whole day older than the retention; `refused` inside it, `duplicate` unless it has more samples. */
  importDay(symbol: string, day: Day): Promise<'stored' | 'duplicate' | 'refused'>
  /** Publishes what an ingester says about itself; gone `ttlSeconds` after the last time. */
  publishStatus(
    id: string,
    fields: Readonly<Record<string, string | number>>,
    ttlSeconds: number,
  ): Promise<void>
}

/** A writer over an open connection. Loads the function library whenever it is missing or older. @see docs/architecture.md#data-in-redis */
export function createWriter({ redis, prices, retentionDays, log }: WriterOptions): SampleWriter {
  const writerArgs = [LIBRARY_VERSION, prices, LAYOUT_VERSION]
  let coins: readonly Coin[] = []
  let departed: ReadonlySet<string> | undefined
  let isTracked = true

  async function call(name: LibraryFunction, args: readonly RedisArgument[]): Promise<unknown> {
    const command = functionCall(name, [...writerArgs, ...args])
    try {
      return await redis.call('FCALL', ...command)
    } catch (error) {
      if (!(error instanceof KimchiError) || error.code !== 'KIMCHI_ERR_NOT_READY') throw error
      await loadLibrary(redis)
      log.info({ version: LIBRARY_VERSION, redis: redis.target }, 'function library loaded')
      return redis.call('FCALL', ...command)
    }
  }

  async function sendCoins(): Promise<void> {
    const departing = departed === undefined ? [] : [departed.size, ...departed]
    await call('kp_track', [coins.length, ...coins.flatMap(trackArguments), ...departing])
    // Told once: another ingester may have good reason to track them again.
    departed = departed && new Set()
    isTracked = true
  }

  async function writeChunk(samples: readonly Sample[], batch: SampleBatch, names: Map<string, string>) {
    const removed = batch.removed ?? []
    const removals = removed.flatMap(symbol => [symbol, batch.minute])
    const args = [
      retentionDays,
      samples.length,
      ...sampleArguments(samples, names),
      removed.length,
      ...removals,
    ]
    const reply = (await call('kp_write', args)) as number[]
    const [stored = 0, duplicates = 0, expired = 0, frozen = 0, removedRows = 0, knownCoins = 0] = reply
    if (expired > 0) log.warn({ samples: expired }, 'samples refused: their day has expired')
    if (frozen > 0) log.warn({ samples: frozen }, 'samples refused: their day has lost stored samples')
    // Redis was emptied: the list of coins is ours to bring back.
    if (knownCoins === 0 && coins.length > 0) isTracked = false
    return { stored, duplicates, refused: expired + frozen, removed: removedRows }
  }

  return {
    track: async (next, gone) => {
      // What departed before is still to be told when Redis was away.
      const symbols = new Set(next.map(coin => coin.symbol))
      departed = gone && new Set([...(departed ?? []), ...gone].filter(symbol => !symbols.has(symbol)))
      coins = next
      isTracked = false
      await sendCoins()
    },
    write: async batch => {
      const names = new Map(coins.map(coin => [coin.symbol, coin.name]))
      const total = { stored: 0, duplicates: 0, refused: 0, removed: 0 }
      if (!isTracked) await sendCoins()
      for (let start = 0; start === 0 || start < batch.samples.length; start += SAMPLES_PER_CALL) {
        const chunk = batch.samples.slice(start, start + SAMPLES_PER_CALL)
        const result = await writeChunk(chunk, batch, names)
        for (const key of ['stored', 'duplicates', 'refused', 'removed'] as const) total[key] += result[key]
      }
      if (!isTracked) await sendCoins()
      return total
    },
    importDay: async (symbol, day) => {
      const reply = await call('kp_import_day', [retentionDays, symbol, ...dayArguments(day)])
      return reply === 1 ? 'stored' : reply === 0 ? 'duplicate' : 'refused'
    },
    publishStatus: async (id, fields, ttlSeconds) => {
      await redis.call('HSET', ingesterKey(id), ...Object.entries(fields).flat())
      await redis.call('EXPIRE', ingesterKey(id), ttlSeconds)
    },
  }
}

function trackArguments({ symbol, name, upbit, binance }: Coin, order: number): string[] {
  return [symbol, JSON.stringify({ order, name, upbit, binance })]
}

/** The live row of a coin comes only with its newest sample: the others would be overtaken in the same call. */
function sampleArguments(samples: readonly Sample[], names: Map<string, string>): RedisArgument[] {
  const newest = new Map<string, EpochMinute>()
  for (const { symbol, minute } of samples) {
    newest.set(symbol, Math.max(minute, newest.get(symbol) ?? minute))
  }
  return samples.flatMap(sample => {
    const { symbol, minute, premiumE4 } = sample
    const isNewest = newest.get(symbol) === minute
    const live = isNewest ? formatLiveRow(sample, names.get(symbol) ?? symbol) : ''
    return [symbol, minute, premiumE4, encodeSample(sample), live]
  })
}

function dayArguments(day: Day): RedisArgument[] {
  const { date, open, high, low, close, sum, samples, firstMinute, lastMinute } = day
  return [date, open, high, low, close, sum, samples, firstMinute, lastMinute]
}
