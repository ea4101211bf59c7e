import {
  type Coin,
  type Day,
  type EpochMinute,
  type Gap,
  KimchiError,
  type Log,
  messageOf,
  type PricesKind,
  type Sample,
  type SettledReason,
  type UtcDate,
} from '@kimchi/core'
import { encodeSample, formatLiveRow } from './codec.ts'
import { IMPLAUSIBLE, importedKey, LAYOUT_VERSION, META_KEY } from './layout.ts'
import { LIBRARY_VERSION, loadLibrary } from './library.ts'
import type { RedisArgument, RedisConnection } from './redis/connect.ts'

/** A gap that stays: its candles were fetched, or the coin was halted. */
export interface SettledMinute extends Gap {
  readonly reason: SettledReason
}

/**
 * What is written in one go: usually one minute of all coins, in backfill many minutes. The call blocks Redis
 * for all its clients: some 10 ms for 200 samples, those of 200 coins or of a window of backfill.
 */
export interface SampleBatch {
  /** The newest minute of the batch. */
  readonly minute: EpochMinute
  readonly samples: readonly Sample[]
  /** Minutes that are not open from now on; one that has a sample stays stored. @default none */
  readonly settled?: readonly SettledMinute[]
  /**
   * Symbols that are halted at that minute: they leave the live list unless their row is as new, until a
   * newer minute of theirs is stored. @default none
   */
  readonly halted?: readonly string[]
}

/** Why Redis refuses a sample, and what the log says of it. */
const REFUSALS = {
  /** The retention of its UTC day is over. */
  expired: 'samples refused: their day has expired',
  /** Its day has lost stored samples and must not count them again. */
  frozen: 'samples refused: their day has lost stored samples',
  /** Until a person repairs the key. */
  damaged: 'samples refused: a key of their coin is of a wrong type',
} as const

/** A sample that Redis does not store. */
export interface RefusedSample {
  readonly symbol: string
  readonly minute: EpochMinute
  readonly reason: keyof typeof REFUSALS
}

/** What became of a batch. Stored + duplicates + refused = its samples. */
export interface WriteResult {
  readonly stored: number
  /** Their minute already had a sample; the first one stored wins, with all its prices. */
  readonly duplicates: number
  readonly refused: readonly RefusedSample[]
  /** Minutes that were open until now and are settled. */
  readonly settled: number
  /** Replication id of the primary that stored it; another one may lack what the last one had confirmed. */
  readonly primary: string
}

/** A status expires when its ingester has not renewed it for this long. */
const STATUS_TTL_SECONDS = 180

export interface WriterOptions {
  readonly redis: RedisConnection
  /** Kind of the prices; a Redis that holds the other kind refuses every write. */
  readonly prices: PricesKind
  /** Whole UTC days that single samples are kept. */
  readonly retentionDays: number
  /**
   * The live list's order: these symbols first to last, or `all`: BTC first, then by symbol. Ingesters with
   * the same setting write the same order, whichever of its coins each one tracks. @default all
   */
  readonly order?: 'all' | readonly string[]
  /**
   * Symbols that stay off the list while an ingester that denies them lives, whatever others track.
   * @default none
   */
  readonly denied?: readonly string[]
  readonly log: Log
}

/**
 * The only way for samples, days and coins into Redis. Each method resolves when Redis has confirmed. Loads the
 * function library whenever it is absent or older.
 *
 * All methods throw KimchiError: `KIMCHI_ERR_REDIS`, `KIMCHI_ERR_REDIS_REFUSES` and `KIMCHI_ERR_NOT_READY` may be
 * tried again (`isRetryable`), `KIMCHI_ERR_PRICES_KIND` and `KIMCHI_ERR_LAYOUT` are final, `KIMCHI_ERR_CODEC` blames the
 * argument.
 */
export class SampleWriter {
  readonly #options: WriterOptions
  #coins: readonly Coin[] = []
  #isListCurrent = true

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /**
   * Sets the coins that this ingester tracks from now on. What any living ingester tracks is listed: a coin
   * leaves 2 to 5 minutes after the last one that tracked it stopped announcing it ({@link announce}). The
   * writer sends the list again when Redis has lost it.
   */
  async track(coins: readonly Coin[]): Promise<void> {
    this.#coins = coins
    this.#isListCurrent = false
    await this.announce('', {})
  }

  /**
   * This ingester's sign of life, due once a minute: renews what it tracks and denies, and writes its
   * status, which expires 3 minutes later.
   */
  async announce(id: string, status: Readonly<Record<string, string | number>>): Promise<void> {
    const { order = 'all', denied = [] } = this.#options
    const fields = Object.entries(status).flat()
    await this.#call('kp_announce', [
      ...[id, STATUS_TTL_SECONDS, this.#isListCurrent ? 0 : 1],
      ...[this.#coins.length, ...coinArguments(this.#coins, order), denied.length, ...denied],
      ...[fields.length, ...fields],
    ])
    this.#isListCurrent = true
  }

  /** Rejects where this Redis holds the other kind of prices or another layout. */
  async verify(): Promise<void> {
    await this.#call('kp_verify', [])
  }

  /** Writes samples and settled minutes; safe to repeat, in any order, from several writers at once. */
  async write({ samples, settled = [], minute, halted = [] }: SampleBatch): Promise<WriteResult> {
    if (!this.#isListCurrent) await this.announce('', {})
    const args = [
      ...[samples.length, ...sampleArguments(samples, this.#coins)],
      ...[settled.length, ...settled.flatMap(settledArguments)],
      ...[minute, halted.length, ...halted],
    ]
    const reply = await this.#call('kp_write', args)
    // In the order of kp_write in write.lua, which only ever grows at the end.
    type Reply = [number, number, number, number, number, string[], string]
    const [stored, duplicates, newlySettled, _removed, knownCoins, refusals, primary] = reply as Reply
    const refused = refusals.map(refusal => toRefused(refusal, samples))
    this.#warnOfRefused(refused)
    // Redis was emptied, so the list of coins must be sent again.
    if (knownCoins === 0 && this.#coins.length > 0) await this.track(this.#coins)
    return { stored, duplicates, refused, settled: newlySettled, primary }
  }

  /** Writes a whole day older than the retention; `refused` inside it, `duplicate` unless it has more samples. */
  async importDay(symbol: string, day: Day): Promise<'stored' | 'duplicate' | 'refused'> {
    const { date, open, high, low, close, sum, samples, firstMinute, lastMinute } = day
    const row = [open, high, low, close, sum, samples, firstMinute, lastMinute]
    const reply = await this.#call('kp_import_day', [symbol, date, ...row])
    return reply === 1 ? 'stored' : reply === 0 ? 'duplicate' : 'refused'
  }

  /**
   * Mends the days of a coin of which more is stored than their rows count, and whatever is wrong with those whose turn
   * it is: each kept day has one in `turns`. Resolves with the dates that were wrong.
   */
  async mendDays(symbol: string, turn: number, turns: number): Promise<UtcDate[]> {
    const mended: UtcDate[] = []
    for (let from: UtcDate | undefined = '1970-01-01'; from !== undefined; ) {
      const reply = await this.#call('kp_mend_days', [symbol, turn, turns, from])
      const [dates, next] = reply as [UtcDate[], UtcDate?]
      mended.push(...dates)
      from = next
    }
    return mended
  }

  /** Records days that no import need fetch again although they have fewer than 1,440 samples. */
  async markImported(symbol: string, dates: readonly UtcDate[]): Promise<void> {
    if (dates.length > 0) await this.#options.redis.call('SADD', importedKey(symbol), ...dates)
  }

  #warnOfRefused(refused: readonly RefusedSample[]): void {
    for (const [reason, message] of Object.entries(REFUSALS)) {
      const coins = refused.filter(sample => sample.reason === reason).map(({ symbol }) => symbol)
      if (coins.length > 0)
        this.#options.log.warn({ samples: coins.length, coins: [...new Set(coins)] }, message)
    }
  }

  async #call(name: string, args: readonly RedisArgument[]): Promise<unknown> {
    const { redis, prices, retentionDays, log } = this.#options
    const writerArgs = [LIBRARY_VERSION, prices, LAYOUT_VERSION, retentionDays]
    const call = () => redis.call('FCALL', name, 1, META_KEY, ...writerArgs, ...args)
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof KimchiError) || error.code !== 'KIMCHI_ERR_NOT_READY') throw error
      for (const thrown of await loadLibrary(redis)) {
        log.warn({ reason: messageOf(thrown) }, 'a primary could not load the function library')
      }
      log.info({ version: LIBRARY_VERSION, redis: redis.target }, 'function library loaded')
      return call()
    }
  }
}

/** @param refusal the sample's index, counted from 1, and the reason */
function toRefused(refusal: string, samples: readonly Sample[]): RefusedSample {
  const [index, reason] = refusal.split(' ')
  const { symbol, minute } = samples[Number(index) - 1] as Sample
  return { symbol, minute, reason: reason as RefusedSample['reason'] }
}

function settledArguments({ symbol, minute, reason }: SettledMinute): RedisArgument[] {
  return [symbol, minute, reason === 'implausible' ? IMPLAUSIBLE : reason]
}

/** Coins whose order is equal are listed by symbol. */
function coinArguments(coins: readonly Coin[], order: 'all' | readonly string[]): string[] {
  const orderOf = (symbol: string) => {
    if (order === 'all') return symbol === 'BTC' ? 0 : 1
    return order.includes(symbol) ? order.indexOf(symbol) : order.length
  }
  return coins.flatMap(({ symbol, name, upbit, binance }) => [
    symbol,
    JSON.stringify({ order: orderOf(symbol), name, upbit, binance }),
  ])
}

function sampleArguments(samples: readonly Sample[], coins: readonly Coin[]): RedisArgument[] {
  const names = new Map(coins.map(({ symbol, name }) => [symbol, name]))
  return samples.flatMap(sample => {
    const { symbol, minute, premiumE4 } = sample
    const live = formatLiveRow(sample, names.get(symbol) ?? symbol)
    return [symbol, minute, premiumE4, encodeSample(sample), live]
  })
}
