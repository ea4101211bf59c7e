/** Ranges of days by their name in the address; `all` is the most that the API gives in one answer. */
export const RANGES = { '7': 7, '30': 30, '90': 90, '365': 365, all: 3650 } as const

const DEFAULT_RANGE = 90

/** What an address leads to: the list (without a symbol), a coin, or nothing. */
export type Route =
  | { readonly symbol?: undefined; readonly isUnknown: boolean }
  | { readonly symbol: string; readonly range: number }

/** The route of the part after `#` in an address. An unknown range opens the default. */
export function routeOf(hash: string): Route {
  if (/^#?\/?$/.test(hash)) return { isUnknown: false }
  const [, symbol, range = ''] = /^#\/([A-Za-z0-9]{1,20})(?:\/([^/]*))?\/?$/.exec(hash) ?? []
  if (symbol === undefined) return { isUnknown: true }
  const days = Object.hasOwn(RANGES, range) ? RANGES[range as keyof typeof RANGES] : DEFAULT_RANGE
  return { symbol: symbol.toUpperCase(), range: days }
}

export function addressOf(symbol: string, range: number): string {
  const name = Object.entries(RANGES).find(([, days]) => days === range)?.[0]
  return range === DEFAULT_RANGE ? `#/${symbol}` : `#/${symbol}/${name}`
}
