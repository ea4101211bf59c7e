import type { CoinPremium } from '@kimchi/client'
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
 * The rows whose symbol or name, in either language, contains the text; in the list's order until sorted.
 * A row without the value that they are sorted by comes last.
 * @param nameOf a coin's name in the reader's language
 */
export function arrange(
  coins: readonly CoinPremium[],
  { text, sorting }: Search,
  nameOf: (coin: CoinPremium) => string,
  changeOf: ChangeOf,
) {
  const wanted = patternOf(text)
  const found = coins.filter(coin =>
    wanted.test(`${coin.symbol}
${coin.name}
${nameOf(coin)}`),
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

const INITIALS = 'ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ'
const FIRST_SYLLABLE = '가'.charCodeAt(0)
/** Unicode orders syllables by their initial consonant, this many to each. */
const SYLLABLES_PER_INITIAL = 588
/** A keyboard joins two consonants that are typed one after the other: what it makes, and of which two. */
const JOINED = 'ㄳㄱㅅ ㄵㄴㅈ ㄶㄴㅎ ㄺㄹㄱ ㄻㄹㅁ ㄼㄹㅂ ㄽㄹㅅ ㄾㄹㅌ ㄿㄹㅍ ㅀㄹㅎ ㅄㅂㅅ'.split(' ')

/** Finds a text in names; a Korean consonant also finds the syllables that begin with it: `ㅂㅌ` finds 비트코인. */
function patternOf(text: string): RegExp {
  const source = text
    .normalize('NFC')
    .trim()
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/[ㄱ-ㅎ]/g, letter => JOINED.find(joined => joined[0] === letter)?.slice(1) ?? letter)
    .replace(/[ㄱ-ㅎ]/g, initial => {
      const first = FIRST_SYLLABLE + SYLLABLES_PER_INITIAL * INITIALS.indexOf(initial)
      const last = first + SYLLABLES_PER_INITIAL - 1
      return `[${initial}${String.fromCharCode(first)}-${String.fromCharCode(last)}]`
    })
  return new RegExp(source, 'i')
}
