import type { CoinPremium, DailyPremium } from '@kimchi/client'
import { averageE4, type Day, formatTimestamp, percentOf } from '@kimchi/core'
import type { BoardRow } from '@kimchi/store'

/** A coin's newest sample as the live route sends it. */
export function toLiveRow(row: BoardRow, name: string): CoinPremium {
  return {
    symbol: row.symbol,
    name,
    premium_pct: percentOf(row.premiumE4),
    upbit_krw: row.upbitKrw,
    binance_usdt: row.binanceUsdt,
    usdt_krw: row.usdtKrw,
    snapshot_at: formatTimestamp(row.minute),
  }
}

/** A day as the daily route sends it. */
export function toDailyRow(day: Day): DailyPremium {
  return {
    date: day.date,
    open_pct: percentOf(day.open),
    high_pct: percentOf(day.high),
    low_pct: percentOf(day.low),
    close_pct: percentOf(day.close),
    avg_pct: percentOf(averageE4(day)),
    samples: day.samples,
  }
}
