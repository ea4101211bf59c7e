import { type Coin, type Day, parseTimestamp, type UtcDate } from '@kimchi/core'

/** A coin as Redis knows it: tracked coins have a place in the live list, others only a past. */
export interface KnownCoin extends Coin {
  /** Place in the live list, from 0; undefined when no longer tracked. */
  readonly order: number | undefined
}

/** The coin of an entry of `{kp}:coins`, or undefined when it is not one. */
export function parseCoin(symbol: string, text: string): KnownCoin | undefined {
  const { order, name, upbit, binance } = parseObject(text)
  if (typeof name !== 'string' || typeof upbit !== 'string' || typeof binance !== 'string') return undefined
  if (order !== null && !isCount(order)) return undefined
  return { symbol, name, upbit, binance, order: order ?? undefined }
}

/** The day of an entry of `{kp}:daily:<symbol>`, or undefined when it is not one. */
export function parseDay(date: UtcDate, text: string): Day | undefined {
  const { open, high, low, close, sum, samples, first, last } = parseObject(text)
  if (parseTimestamp(`${date}T00:00:00`) === undefined) return undefined
  if (![open, high, low, close, sum].every(isInteger)) return undefined
  if (!isCount(samples) || samples < 1 || !isCount(first) || !isCount(last) || first > last) return undefined
  return {
    date,
    open: Number(open),
    high: Number(high),
    low: Number(low),
    close: Number(close),
    sum: Number(sum),
    samples,
    firstMinute: first,
    lastMinute: last,
  }
}

/** The fields of a JSON object; none when the text is not one. */
export function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isCount(value: unknown): value is number {
  return isInteger(value) && value >= 0
}
