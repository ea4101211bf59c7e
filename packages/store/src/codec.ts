import {
  type Coin,
  type Day,
  type EpochMinute,
  formatTimestamp,
  isPrice,
  KimchiError,
  parseTimestamp,
  percentOf,
  type Sample,
  type SampleSource,
  type UtcDate,
} from '@kimchi/core'

import { pack, Unpackr } from 'msgpackr'

/** What begins an array of six. */
const ARRAY_OF_SIX = 0x96

/** As Lua does, it reads an integer of eight bytes as a number. */
const unpackr = new Unpackr({ int64AsType: 'number' })

/** A member stores the position in this list: only ever append to it. */
const SOURCES: readonly SampleSource[] = ['live', 'candle']

/**
 * A sample as a sorted-set member: the MessagePack array (minute of the hour, upbitKrw, binanceUsdt, usdtKrw,
 * premiumE4, source), at most 64 bytes, with which an hour keeps Redis' compact encoding
 * (`zset-max-listpack-value`). The symbol and the hour are in the key, and the score is the whole minute, so one
 * byte is enough to keep members apart; four bytes more would put a full hour into the next larger allocation.
 *
 * @throws KimchiError `KIMCHI_ERR_CODEC` naming the first field that cannot be stored
 */
export function encodeSample(sample: Sample): Buffer {
  const problem = problemOf(sample)
  if (problem !== undefined) throw new KimchiError('KIMCHI_ERR_CODEC', problem)
  const { minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4, source } = sample
  return pack([minute % 60, upbitKrw, binanceUsdt, usdtKrw, premiumE4, SOURCES.indexOf(source)])
}

/**
 * The sample of a member that is stored under the score `minute`, or undefined when it is none: then no day counts
 * it either, for kimchi.lua reads by the same rule.
 */
export function decodeSample(symbol: string, minute: EpochMinute, member: Uint8Array): Sample | undefined {
  const fields = unpacked(member)
  if (!Number.isInteger(minute) || fields[0] !== minute % 60) return undefined
  const [, upbitKrw, binanceUsdt, usdtKrw, premiumE4, sourceIndex] = fields
  const source = typeof sourceIndex === 'number' ? SOURCES[sourceIndex] : undefined
  const sample = { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4, source }
  return source !== undefined && problemOf(sample) === undefined ? (sample as Sample) : undefined
}

/** The fields of a MessagePack array of six; none when the bytes are not one. */
function unpacked(member: Uint8Array): readonly unknown[] {
  if (member[0] !== ARRAY_OF_SIX) return []
  try {
    return unpackr.unpack(member)
  } catch {
    return []
  }
}

/** Symbol and minute are no part of the member: the library checks them. */
function problemOf(sample: Readonly<Record<keyof Sample, unknown>>): string | undefined {
  for (const field of ['upbitKrw', 'binanceUsdt', 'usdtKrw'] as const) {
    if (!isPrice(sample[field])) return `${field} must be a price, got: ${sample[field]}`
  }
  const { premiumE4 } = sample
  return Number.isSafeInteger(premiumE4) ? undefined : `premiumE4 must be an integer, got: ${premiumE4}`
}

/** A coin's newest sample as it is published. */
export interface BoardRow extends Pick<Sample, 'symbol' | 'minute' | 'premiumE4'> {
  /** The row as callers get it. */
  readonly json: string
}

/** A coin as Redis knows it: a tracked coin is in the live list, any other has only its history. */
export interface KnownCoin extends Coin {
  /** Place in the live list, from 0; undefined when no longer tracked. */
  readonly order: number | undefined
}

/** An entry of `{kp}:live`, in the API's field names: callers get it as it is. */
export function formatLiveRow(sample: Sample, name: string): string {
  return JSON.stringify({
    symbol: sample.symbol,
    name,
    premium_pct: percentOf(sample.premiumE4),
    upbit_krw: sample.upbitKrw,
    binance_usdt: sample.binanceUsdt,
    usdt_krw: sample.usdtKrw,
    snapshot_at: formatTimestamp(sample.minute),
  })
}

/** Reads a row from an entry of `{kp}:live`; undefined when the entry is corrupt. */
export function parseLiveRow(symbol: string, json: string): BoardRow | undefined {
  const row = parseObject(json)
  const premiumE4 = Math.round(Number(row.premium_pct) * 10_000)
  const minute = typeof row.snapshot_at === 'string' ? parseTimestamp(row.snapshot_at) : undefined
  if (row.symbol !== symbol || typeof row.name !== 'string' || minute === undefined) return undefined
  if (percentOf(premiumE4) !== row.premium_pct) return undefined
  if (![row.upbit_krw, row.binance_usdt, row.usdt_krw].every(isPrice)) return undefined
  return { symbol, minute, premiumE4, json }
}

/** Reads a coin from an entry of `{kp}:coins`; undefined when the entry is corrupt. */
export function parseCoin(symbol: string, text: string): KnownCoin | undefined {
  const { order, name, upbit, binance } = parseObject(text)
  if (typeof name !== 'string' || typeof upbit !== 'string' || typeof binance !== 'string') return undefined
  if (order !== null && !isCount(order)) return undefined
  return { symbol, name, upbit, binance, order: order ?? undefined }
}

/** Reads a day from an entry of `{kp}:daily:<symbol>`; undefined when the entry is corrupt. */
export function parseDay(date: UtcDate, text: string): Day | undefined {
  const { open, high, low, close, sum, samples, first, last } = parseObject(text)
  if (parseTimestamp(`${date}T00:00:00`) === undefined) return undefined
  if (![open, high, low, close, sum].every(Number.isSafeInteger)) return undefined
  if (!isCount(samples) || samples < 1 || !isCount(first) || !isCount(last) || first > last) return undefined
  return { date, open, high, low, close, sum, samples, firstMinute: first, lastMinute: last } as Day
}

/** The fields of a JSON object; none when the text is not one. */
function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
