import {
  type Coin,
  type Day,
  formatTimestamp,
  isPrice,
  parseTimestamp,
  percentOf,
  type Sample,
  type UtcDate,
} from '@kimchi/core'

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
