/** Ranges of days by their name in the address; `all` is the most that the API gives in one answer. */
export const RANGES = { '7': 7, '30': 30, '90': 90, '365': 365, all: 3650 } as const

const DEFAULT_RANGE = 90

/** The coin and the days that the part after `#` in an address leads to; without a symbol, to the list. */
export function routeOf(hash: string): { readonly symbol: string | undefined; readonly range: number } {
  const [, symbol, range = ''] = /^#\/([A-Za-z0-9]{1,20})(?:\/([^/]*))?\/?$/.exec(hash) ?? []
  const days = Object.hasOwn(RANGES, range) ? RANGES[range as keyof typeof RANGES] : DEFAULT_RANGE
  return { symbol: symbol?.toUpperCase(), range: days }
}

export function addressOf(symbol: string, range: number): string {
  const name = Object.entries(RANGES).find(([, days]) => days === range)?.[0]
  return range === DEFAULT_RANGE ? `#/${symbol}` : `#/${symbol}/${name}`
}
