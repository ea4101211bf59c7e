import type { CoinPremium } from '@kimchi/client'
import { binanceKrw, gapKrw } from '../live/prices.ts'

/** What a row can be sorted by. */
const VALUES = {
  symbol: (coin: CoinPremium) => coin.symbol,
  premium_pct: (coin: CoinPremium) => coin.premium_pct,
  gap_krw: gapKrw,
  upbit_krw: (coin: CoinPremium) => coin.upbit_krw,
  binance_krw: binanceKrw,
  binance_usdt: (coin: CoinPremium) => coin.binance_usdt,
  usdt_krw: (coin: CoinPremium) => coin.usdt_krw,
  snapshot_at: (coin: CoinPremium) => coin.snapshot_at,
}

/** Columns that can be sorted by. */
export type Column = keyof typeof VALUES

/** A column and a direction. */
export interface Sorting {
  readonly column: Column
  readonly isAscending: boolean
}

/** The search. */
export interface Filter {
  readonly text: string
  /** Only these symbols; undefined for all. */
  readonly only?: ReadonlySet<string> | undefined
  /** A coin's name in the reader's language. */
  readonly nameOf: (coin: CoinPremium) => string
}

/** Names start at A, everything else at the largest. A row's age grows as its time goes back. */
export function nextSorting(now: Sorting, column: Column): Sorting {
  const isAscending = now.column === column ? !now.isAscending : column === 'symbol'
  return { column, isAscending }
}

/** The rows that match by symbol or by a name in either language, sorted. */
export function arrange(
  coins: readonly CoinPremium[],
  { column, isAscending }: Sorting,
  { text, only, nameOf }: Filter,
) {
  const wanted = text.normalize('NFC').trim().toLowerCase()
  const sign = (isAscending ? 1 : -1) * (column === 'snapshot_at' ? -1 : 1)
  const value = VALUES[column]
  return coins
    .filter(coin => {
      const names = `${coin.symbol}\n${coin.name}\n${nameOf(coin)}`.toLowerCase()
      return names.includes(wanted) && (only?.has(coin.symbol) ?? true)
    })
    .toSorted((a, b) => sign * compare(value(a), value(b)))
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
