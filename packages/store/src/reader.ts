import {
  DAY_MINUTES,
  type Day,
  type EpochMinute,
  KimchiError,
  type PricesKind,
  type Sample,
  type UtcDate,
} from '@kimchi/core'
import { type BoardRow, decodeSample, type KnownCoin, parseCoin, parseDay, parseLiveRow } from './codec.ts'
import {
  IMPLAUSIBLE,
  IMPLAUSIBLE_BEFORE,
  importedKey,
  LAYOUT_VERSION,
  META_KEY,
  MINUTE_CHANNEL,
} from './layout.ts'
import type { Problem, RedisArgument, RedisConnection } from './redis/connect.ts'

/** The library refuses to read more minutes than these by one call: Redis answers nobody else meanwhile. */
const MAX_SPAN = 10 * DAY_MINUTES

/** Everything a replica needs once per minute, as of one instant. */
export interface Board {
  /** Undefined while nothing was ever written. */
  readonly prices: PricesKind | undefined
  /** All coins ever tracked: first the tracked ones in live order, then the others by symbol. */
  readonly coins: readonly KnownCoin[]
  /** The newest sample of each tracked coin that has one, in live order. */
  readonly rows: readonly BoardRow[]
  /** Today by Redis' clock. When it turns, yesterday is closed without its revision rising. */
  readonly today: UtcDate
  /** Today's row of each coin that has one. */
  readonly todayRows: ReadonlyMap<string, Day>
  /** Raised when a day other than today's changed. A coin without one is at 0. */
  readonly revisions: ReadonlyMap<string, number>
  /** The newest minute that was ever stored, of whichever coin; 0 when there is none. */
  readonly newestMinute: EpochMinute
  /** Entries that could not be read and were left out. */
  readonly corrupt: number
}

/** Entries of Redis, the unreadable ones counted. */
export interface Readable<T> {
  readonly entries: readonly T[]
  /** Entries that could not be read and were left out. */
  readonly corrupt: number
}

/** A range of minutes, the end not included. */
export interface MinuteRange {
  readonly start: EpochMinute
  readonly end: EpochMinute
}

/**
 * Samples, days and coins as they are stored. It only reads, so a user that may only read can use it; but
 * {@link readImported} needs SMEMBERS, which the API's user lacks.
 *
 * All methods throw KimchiError: `KIMCHI_ERR_REDIS` when Redis is away, `KIMCHI_ERR_NOT_READY` when no writer
 * has loaded the function library yet, `KIMCHI_ERR_LAYOUT` when another layout is stored.
 * @see docs/architecture.md#data-in-redis, docs/architecture.md#api
 */
export class SampleReader {
  readonly #redis: RedisConnection

  constructor({ redis }: { readonly redis: RedisConnection }) {
    this.#redis = redis
  }

  async readBoard(): Promise<Board> {
    return toBoard(await this.#read('kp_read'))
  }

  /** All days of a coin, ascending, today's included. */
  async readDays(symbol: string): Promise<Readable<Day>> {
    return readable(pairs((await this.#read('kp_days', symbol)) as string[]), parseDay)
  }

  /** Stored samples from one minute to another, five days at most, the end not included; ascending. */
  async readSamples(symbol: string, from: EpochMinute, to: EpochMinute): Promise<Readable<Sample>> {
    const reply = await this.#redis.callBuffer('FCALL_RO', 'kp_members', 1, META_KEY, symbol, from, to)
    return readable(pairs(reply as Buffer[]), (minute, member) =>
      decodeSample(symbol, Number(minute), member),
    )
  }

  /**
   * Open minutes, neither stored, settled nor refused, from one minute to another, the end not included.
   * @param allowed whether `ALLOW` names the coin, which opens its implausible minutes @default false
   */
  async readOpenMinutes(
    symbol: string,
    from: EpochMinute,
    to: EpochMinute,
    allowed = false,
  ): Promise<readonly MinuteRange[]> {
    const reasons = allowed ? [IMPLAUSIBLE_BEFORE, IMPLAUSIBLE] : [IMPLAUSIBLE_BEFORE]
    const ranges: MinuteRange[] = []
    for (let start = from; start < to; start += MAX_SPAN) {
      const end = Math.min(start + MAX_SPAN, to)
      const reply = await this.#read('kp_open', symbol, start, end, reasons.length, ...reasons)
      ranges.push(...pairs(reply as number[]).map(([start, end]) => ({ start, end })))
    }
    return ranges
  }

  /** How many whole UTC days the ingesters keep samples; undefined where none has ever run. */
  async readRetentionDays(): Promise<number | undefined> {
    const days = await this.#redis.call('HGET', META_KEY, 'retention')
    return days === null ? undefined : Number(days)
  }

  /** Days that an import has made as whole as they can be, with fewer than 1,440 samples. */
  async readImported(symbol: string): Promise<readonly string[]> {
    return (await this.#redis.call('SMEMBERS', importedKey(symbol))) as string[]
  }

  /**
   * Calls `onMinute` for each written minute, and `onConnected` whenever commands can be sent and the connection for
   * messages or the one for commands is there (again), until they are closed: messages were missed, and what was
   * read may be of another primary.
   */
  followMinutes(onMinute: (minute: EpochMinute) => void, onConnected: () => void): void {
    const onChange = (problem: Problem) => {
      if (!problem && !this.#redis.problem()) onConnected()
    }
    this.#redis.subscribe(MINUTE_CHANNEL, message => onMinute(Number(message)), onChange)
    this.#redis.onChange(onChange)
  }

  #read(name: string, ...args: readonly RedisArgument[]): Promise<unknown> {
    return this.#redis.call('FCALL_RO', name, 1, META_KEY, ...args)
  }
}

function toBoard(reply: unknown): Board {
  // In the order of kp_read in read.lua, which only ever grows at the end: other versions read it too.
  const [prices, layout, coinTexts, rowTexts, today, dayTexts, counterTexts, newest = 0] = reply as [
    ...[prices: string, layout: string, coins: string[], rows: string[]],
    ...[today: UtcDate, todayRows: string[], revisions: string[], newest?: number],
  ]
  if (layout !== '' && Number(layout) !== LAYOUT_VERSION) {
    const message = `this Redis holds layout ${layout}, the reader knows ${LAYOUT_VERSION}`
    throw new KimchiError('KIMCHI_ERR_LAYOUT', message)
  }
  const known = readable(pairs(coinTexts), parseCoin)
  const live = readable(pairs(rowTexts), parseLiveRow)
  const days = readable(pairs(dayTexts), (symbol, text) => {
    const day = parseDay(today, text)
    return day && ([symbol, day] as const)
  })
  const counters = readable(pairs(counterTexts), (symbol, counter) =>
    /^\d+$/.test(counter) ? ([symbol, Number(counter)] as const) : undefined,
  )
  const orderOf = ({ order = Number.MAX_SAFE_INTEGER }: KnownCoin) => order
  const coins = known.entries.toSorted((a, b) => orderOf(a) - orderOf(b) || (a.symbol < b.symbol ? -1 : 1))
  const rows = new Map(live.entries.map(row => [row.symbol, row]))
  return {
    prices: prices === 'live' || prices === 'simulated' ? prices : undefined,
    coins,
    rows: coins.flatMap(({ symbol, order }) => (order === undefined ? [] : (rows.get(symbol) ?? []))),
    today,
    todayRows: new Map(days.entries),
    revisions: new Map(counters.entries),
    newestMinute: newest,
    corrupt: known.corrupt + live.corrupt + days.corrupt + counters.corrupt,
  }
}

/** The caller counts what can't be parsed: one corrupt entry must not hide the others. */
function readable<V, T>(entries: readonly [V, V][], parse: (key: V, value: V) => T | undefined): Readable<T> {
  const parsed = entries.map(([key, value]) => parse(key, value)).filter(entry => entry !== undefined)
  return { entries: parsed, corrupt: entries.length - parsed.length }
}

/** A flat `[key, value, …]` reply as pairs. */
function pairs<V>(flat: readonly V[]): [V, V][] {
  const entries: [V, V][] = []
  for (let index = 0; index + 1 < flat.length; index += 2)
    entries.push([flat[index] as V, flat[index + 1] as V])
  return entries
}
