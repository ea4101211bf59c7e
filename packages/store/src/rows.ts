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

/** A coin's newest sample. Only the stored sample says where its prices came from. */
export type BoardRow = Omit<Sample, 'source'>

/** A coin as Redis knows it: a tracked coin has a place in the live list, any other has only its history. */
export interface KnownCoin extends Coin {
  /** Place in the live list, from 0; undefined when no longer tracked. */
  readonly order: number | undefined
}

/** An entry of `{kp}:live`: readable for people at redis-cli, in the published field names. */
export function formatLiveRow(row: BoardRow, name: string): string {
  return JSON.stringify({
    symbol: row.symbol,
    name,
    premium_pct: percentOf(row.premiumE4),
    upbit_krw: row.upbitKrw,
    binance_usdt: row.binanceUsdt,
    usdt_krw: row.usdtKrw,
    snapshot_at: formatTimestamp(row.minute),
  })
}

/** The row of an entry of `{kp}:live`, or undefined when it is not one. */
export function parseLiveRow(symbol: string, text: string): BoardRow | undefined {
  const fields = parseObject(text)
  const { upbit_krw: upbitKrw, binance_usdt: binanceUsdt, usdt_krw: usdtKrw } = fields
  const premiumE4 = Math.round(Number(fields.premium_pct) * 10_000)
  const minute = typeof fields.snapshot_at === 'string' ? parseTimestamp(fields.snapshot_at) : undefined
  if (fields.symbol !== symbol || minute === undefined || percentOf(premiumE4) !== fields.premium_pct)
    return undefined
  if (!isPrice(upbitKrw) || !isPrice(binanceUsdt) || !isPrice(usdtKrw)) return undefined
  return { symbol, minute, premiumE4, upbitKrw, binanceUsdt, usdtKrw }
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
