import { formatTimestamp, isPrice, parseTimestamp, percentOf, type Sample } from '@kimchi/core'
import { parseObject } from './validate.ts'

/** A coin's newest sample. Where its prices came from is kept with the sample only. */
export type BoardRow = Omit<Sample, 'source'>

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
