import {
  type Day,
  type EpochMinute,
  KimchiError,
  type PricesKind,
  type Sample,
  type UtcDate,
} from '@kimchi/core'
import { decodeSample } from './codec.ts'
import { importedKey, KEYS, LAYOUT_VERSION } from './keys.ts'
import { functionCall, type LibraryFunction } from './library.ts'
import { type BoardRow, parseLiveRow } from './live-row.ts'
import type { ConnectionStatus, RedisArgument, RedisConnection, Subscription } from './redis/connect.ts'
import { type KnownCoin, parseCoin, parseDay } from './validate.ts'

/** Everything a replica needs once per minute, of one instant. */
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
  /** Entries that could not be read and were left out. */
  readonly corrupt: number
}

/** A part of Redis with its unreadable entries counted. */
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
 * Samples, days and coins as they are stored, each method by one read-only function call. Works for a user that
 * may only read; {@link SampleReader.readImported} needs SMEMBERS besides, which the API's user lacks.
 *
 * All methods throw KimchiError: `KIMCHI_ERR_REDIS` when Redis is away, `KIMCHI_ERR_NOT_READY` when no writer
 * has loaded the function library yet, `KIMCHI_ERR_LAYOUT` when another layout is stored.
 */
export interface SampleReader {
  readBoard(): Promise<Board>
  /** All days of a coin, ascending, today's included. */
  readDays(symbol: string): Promise<Readable<Day>>
  /** Stored samples from a minute up to, not including, another; ascending. */
  readSamples(symbol: string, from: EpochMinute, to: EpochMinute): Promise<Readable<Sample>>
  /** Open minutes from one up to, not including, another: neither stored, settled nor refused; cheap. */
  readOpenMinutes(symbol: string, from: EpochMinute, to: EpochMinute): Promise<readonly MinuteRange[]>
  /** The same and the settled minutes, for an import that asks for them again. */
  readUnstoredMinutes(symbol: string, from: EpochMinute, to: EpochMinute): Promise<readonly MinuteRange[]>
  /** Days that an import has made as whole as they can be, with fewer than 1,440 samples. */
  readImported(symbol: string): Promise<readonly UtcDate[]>
  /** Hears of each written minute, over reconnects; `onStatus` says when it listens and when it does not. */
  subscribeMinutes(
    onMinute: (minute: EpochMinute) => void,
    onStatus: (status: ConnectionStatus) => void,
  ): Subscription
}

/** A reader over an open connection. @see docs/architecture.md#data-in-redis, docs/architecture.md#api */
export function createReader({ redis }: { readonly redis: RedisConnection }): SampleReader {
  const read = (name: LibraryFunction, args: readonly RedisArgument[]) =>
    redis.call('FCALL_RO', ...functionCall(name, args))
  const readMinutes = async (...args: readonly RedisArgument[]) => {
    const reply = (await read('kp_missing', args)) as number[]
    return pairs(reply).map(([start, end]) => ({ start, end }))
  }
  return {
    readBoard: async () => toBoard((await read('kp_read', [])) as BoardReply),
    readDays: async symbol => readable(pairs((await read('kp_days', [symbol])) as string[]), parseDay),
    readSamples: async (symbol, from, to) => {
      const reply = await redis.callBuffer('FCALL_RO', ...functionCall('kp_members', [symbol, from, to]))
      return readable(pairs(reply as Buffer[]), (minute, member) => toSample(symbol, Number(minute), member))
    },
    readOpenMinutes: (symbol, from, to) => readMinutes(symbol, from, to),
    readUnstoredMinutes: (symbol, from, to) => readMinutes(symbol, from, to, 1),
    readImported: async symbol => (await redis.call('SMEMBERS', importedKey(symbol))) as string[],
    subscribeMinutes: (onMinute, onStatus) =>
      redis.subscribe(
        KEYS.minute,
        message => {
          if (/^\d+$/.test(message)) onMinute(Number(message))
        },
        onStatus,
      ),
  }
}

/**
 * As `kp_read` in kimchi.lua replies; other versions of this reader rely on the order, so it only grows at
 * the end.
 */
type BoardReply = [
  prices: string,
  layout: string,
  coins: string[],
  rows: string[],
  today: string,
  todayRows: string[],
  revisions: string[],
]

function toBoard([prices, layout, coins, rows, today, todayRows, revisions]: BoardReply): Board {
  if (layout !== '' && Number(layout) !== LAYOUT_VERSION) {
    const message = `this Redis holds layout ${layout}, the reader knows ${LAYOUT_VERSION}`
    throw new KimchiError('KIMCHI_ERR_LAYOUT', message)
  }
  const known = readable(pairs(coins), parseCoin)
  const order = new Map(known.entries.map(coin => [coin.symbol, coin.order]))
  const live = readable(pairs(rows), parseLiveRow)
  const days = readable(pairs(todayRows), (symbol, row) => {
    const day = parseDay(today, row)
    return day && ([symbol, day] as const)
  })
  const counters = readable(pairs(revisions), (symbol, counter) =>
    /^\d+$/.test(counter) ? ([symbol, Number(counter)] as const) : undefined,
  )
  const place = (symbol: string) => order.get(symbol) ?? Number.POSITIVE_INFINITY
  const byOrder = (a: { symbol: string }, b: { symbol: string }) =>
    place(a.symbol) === place(b.symbol) ? (a.symbol < b.symbol ? -1 : 1) : place(a.symbol) - place(b.symbol)
  return {
    prices: prices === 'live' || prices === 'simulated' ? prices : undefined,
    coins: known.entries.toSorted(byOrder),
    rows: live.entries.filter(row => order.get(row.symbol) !== undefined).toSorted(byOrder),
    today,
    todayRows: new Map(days.entries),
    revisions: new Map(counters.entries),
    corrupt: known.corrupt + live.corrupt + days.corrupt + counters.corrupt,
  }
}

function toSample(symbol: string, minute: EpochMinute, member: Buffer): Sample | undefined {
  try {
    return decodeSample(symbol, minute, member)
  } catch {
    // Counted by the caller: one damaged member must not hide the others.
    return undefined
  }
}

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
