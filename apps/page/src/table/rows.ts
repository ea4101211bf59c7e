import type { CoinPremium } from '@kimchi/client'

/** Columns that can be sorted by. */
export type Column = 'symbol' | 'premium_pct' | 'upbit_krw' | 'binance_usdt' | 'usdt_krw' | 'snapshot_at'

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
}

/** Names start at A, everything else at the largest. A row's age grows as its time goes back. */
export function nextSorting(now: Sorting, column: Column): Sorting {
  const isAscending = now.column === column ? !now.isAscending : column === 'symbol'
  return { column, isAscending }
}

/** The rows that match, sorted. */
export function arrange(
  coins: readonly CoinPremium[],
  { column, isAscending }: Sorting,
  { text, only }: Filter,
) {
  const wanted = text.trim().toLowerCase()
  const sign = (isAscending ? 1 : -1) * (column === 'snapshot_at' ? -1 : 1)
  return coins
    .filter(
      ({ symbol, name }) =>
        `${symbol}\n${name}`.toLowerCase().includes(wanted) && (only?.has(symbol) ?? true),
    )
    .toSorted((a, b) => sign * compare(a[column], b[column]))
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
