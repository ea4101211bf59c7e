import { averageE4, type Day } from './daily.ts'
import { percentOf } from './premium.ts'
import type { Sample } from './sample.ts'
import { formatTimestamp } from './time.ts'
import type { Krw, KrwPerUsdt, Usdt, UtcDate } from './units.ts'

/** One coin of the live list, in the published field names. @see service-spec §2.2 */
export interface LiveRow {
  readonly symbol: string
  readonly name: string
  /** Percent, 4 decimals. */
  readonly premium_pct: number
  readonly upbit_krw: Krw
  readonly binance_usdt: Usdt
  readonly usdt_krw: KrwPerUsdt
  /** `YYYY-MM-DDTHH:MM:SS`, UTC. */
  readonly snapshot_at: string
}

/** One day of a coin's history, in the published field names; percent, 4 decimals. @see service-spec §2.4 */
export interface DailyRow {
  readonly date: UtcDate
  readonly open_pct: number
  readonly high_pct: number
  readonly low_pct: number
  readonly close_pct: number
  readonly avg_pct: number
  readonly samples: number
}

/** A sample as a row of the live list. */
export function toLiveRow(sample: Sample, name: string): LiveRow {
  return {
    symbol: sample.symbol,
    name,
    premium_pct: percentOf(sample.premiumE4),
    upbit_krw: sample.upbitKrw,
    binance_usdt: sample.binanceUsdt,
    usdt_krw: sample.usdtKrw,
    snapshot_at: formatTimestamp(sample.minute),
  }
}

/** A day as a row of the history. */
export function toDailyRow(day: Day): DailyRow {
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
