import type { UtcDate } from '@kimchi/core'

/** Version of everything below and of the sample codec; a writer of another layout is refused. */
export const LAYOUT_VERSION = 1

/**
 * The hash tag puts every key into one slot, so that one function call may touch all of them.
 * @see docs/architecture.md#data-in-redis
 */
const KEY_PREFIX = '{kp}:'

/** The fixed keys and the channel. Keys with a variable part are made by the functions below. */
export const KEYS = {
  /** hash · symbol → `{"order":0,"name":"Bitcoin","upbit":"KRW-BTC","binance":"BTCUSDT"}` · kept */
  coins: `${KEY_PREFIX}coins`,
  /** hash · symbol → live row as JSON in the spec's field names · kept, one row per tracked coin */
  live: `${KEY_PREFIX}live`,
  /**
   * hash · `prices` live or simulated, `layout` version, `retention` in days, `newest` minute, `announced`:
   * when an ingester was last heard of, in seconds · kept
   */
  meta: `${KEY_PREFIX}meta`,
  /** hash · symbol → counter of changes to days other than today · kept */
  revisions: `${KEY_PREFIX}revisions`,
  /** sorted set · symbol, score the second until which it is listed without being announced again */
  tracked: `${KEY_PREFIX}tracked`,
  /** sorted set · symbol, score the second until which it is denied without being announced again */
  denied: `${KEY_PREFIX}denied`,
  /** sorted set · id of an ingester, score when it was last heard of in seconds · an hour longer */
  ingesters: `${KEY_PREFIX}ingesters`,
  /** channel · the epoch minute that was just written */
  minute: `${KEY_PREFIX}minute`,
} as const

/** hash · date → `{"open":…,"high":…,"low":…,"close":…,"sum":…,"samples":…,"first":…,"last":…}` · kept */
export function dailyKey(symbol: string): string {
  return `${KEY_PREFIX}daily:${symbol}`
}

/**
 * set · dates of a coin's days that an import has made as whole as they can be, with fewer than 1,440 samples
 * · for ever
 */
export function importedKey(symbol: string): string {
  return `${KEY_PREFIX}imported:${symbol}`
}

/** sorted set · score epoch minute, member packed sample · until the retention of its UTC day is over. */
export function samplesKey(symbol: string, date: UtcDate, hour: number): string {
  return `${KEY_PREFIX}samples:${symbol}:${date.replaceAll('-', '')}${String(hour).padStart(2, '0')}`
}

/** sorted set · score epoch minute, member `<minute> <reason>` · as long as samples of that UTC day. */
export function settledKey(symbol: string, date: UtcDate, hour: number): string {
  return `${KEY_PREFIX}settled:${symbol}:${date.replaceAll('-', '')}${String(hour).padStart(2, '0')}`
}

/**
 * string · id of the process that does a piece of work at the moment · expires unless it is claimed again.
 */
export function leaseKey(name: string): string {
  return `${KEY_PREFIX}lease:${name}`
}
