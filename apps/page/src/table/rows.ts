import type { CoinPremium } from '@kimchi/client'

/** The columns of the list from left to right, each with the value that it is sorted by. */
export const COLUMNS = {
  coin: coin => coin.symbol,
  premium: coin => coin.premium_pct,
  /** How many won a coin costs more on Upbit; negative where it costs less. */
  gap: (coin): number => coin.upbit_krw - COLUMNS.binance(coin),
  krw: coin => coin.upbit_krw,
  /** Binance's price in won, by the row's own rate. */
  binance: (coin): number => coin.binance_usdt * coin.usdt_krw,
  usdt: coin => coin.binance_usdt,
  rate: coin => coin.usdt_krw,
  age: coin => coin.snapshot_at,
} as const satisfies Record<string, (coin: CoinPremium) => number | string>

/** Name of a column; its heading is the text of the same key. */
export type Column = keyof typeof COLUMNS

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

/** The sorting after a click on a column: names start at A, numbers and ages with the largest. */
export function nextSorting(now: Sorting, column: Column): Sorting {
  const isAscending = now.column === column ? !now.isAscending : column === 'coin'
  return { column, isAscending }
}

/** The rows whose symbol or name, in either language, contains the text; sorted. */
export function arrange(
  coins: readonly CoinPremium[],
  { column, isAscending }: Sorting,
  { text, only, nameOf }: Filter,
) {
  const wanted = text.normalize('NFC').trim().toLowerCase()
  // The later a row's time, the smaller its age.
  const sign = (isAscending ? 1 : -1) * (column === 'age' ? -1 : 1)
  const value = COLUMNS[column]
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
