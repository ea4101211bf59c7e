import type { CoinPremium } from '@kimchi/client'
import { disassemble, getChoseong } from 'es-hangul'
import { wonOf } from './won.ts'

/** Points since yesterday's close; undefined while that is not known, or the row is not current. */
export type ChangeOf = (coin: CoinPremium) => number | undefined

/** The columns of the list from left to right, each with the value that it is sorted by. */
export const COLUMNS = {
  coin: coin => coin.symbol,
  premium: coin => coin.premium_pct,
  since: (coin, changeOf) => changeOf(coin),
  /** How many won a coin costs more on Upbit; negative where it costs less. */
  gap: coin => wonOf(coin).gap,
  krw: coin => coin.upbit_krw,
  /** Binance's price in won, by the row's own rate. */
  binance: coin => wonOf(coin).binance,
  usdt: coin => coin.binance_usdt,
} as const satisfies Record<string, (coin: CoinPremium, changeOf: ChangeOf) => number | string | undefined>

/** Name of a column; its heading is the text of the same key. */
export type Column = keyof typeof COLUMNS

/** The columns of prices, and the gap between two of them. */
export const AMOUNTS = ['gap', 'krw', 'binance', 'usdt'] as const

export type AmountColumn = (typeof AMOUNTS)[number]

export interface Sorting {
  readonly column: Column
  readonly isAscending: boolean
}

/** What a visitor has searched and sorted by. */
export interface Search {
  readonly text: string
  /** Undefined until somebody sorts: the order of the list, BTC first, then as configured. */
  readonly sorting?: Sorting | undefined
}

/** The sorting after a click on a column: names start at A, numbers with the largest; the third one ends it. */
export function nextSorting(now: Sorting | undefined, column: Column): Sorting | undefined {
  const first = column === 'coin'
  if (now?.column !== column) return { column, isAscending: first }
  return now.isAscending === first ? { column, isAscending: !first } : undefined
}

/**
 * The rows whose symbol or name, in either language, contains the text, or a Korean one's initial consonants do: `ㅂㅌ`
 * finds 비트코인. In the list's order until sorted.
 * A row without the value that they are sorted by comes last.
 * @param nameOf a coin's name in the reader's language
 */
export function arrange(
  coins: readonly CoinPremium[],
  { text, sorting }: Search,
  nameOf: (coin: CoinPremium) => string,
  changeOf: ChangeOf,
) {
  const wanted = lettersOf(text.normalize('NFC').trim())
  const found = coins.filter(coin =>
    [coin.symbol, coin.name, nameOf(coin)].some(
      name => lettersOf(name).includes(wanted) || getChoseong(name).includes(wanted),
    ),
  )
  const sign = sorting?.isAscending ? 1 : -1
  // A device may have kept a column that there was.
  const value = (sorting && COLUMNS[sorting.column]) ?? (() => 0)
  return found.toSorted((a, b) => {
    const [x, y] = [value(a, changeOf), value(b, changeOf)]
    if (x === undefined || y === undefined) return Number(x === undefined) - Number(y === undefined)
    return x < y ? -sign : x > y ? sign : 0
  })
}

/** Letters as they are typed: Korean syllables are taken apart, and so are consonants that a keyboard has joined. */
const lettersOf = (text: string) => disassemble(text).toLowerCase()
