/** Numbers of days that an address may name; the last is the most that the API gives in one answer. */
export const RANGES = [7, 30, 90, 365, 3650]

const DEFAULT_RANGE = 90

/** The coin and the days that the part after `#` in an address leads to; without a symbol, to the list. */
export function routeOf(hash: string): { readonly symbol: string | undefined; readonly range: number } {
  const [, symbol, range] = /^#\/([A-Za-z0-9]{1,20})(?:\/([^/]*))?\/?$/.exec(hash) ?? []
  return {
    symbol: symbol?.toUpperCase(),
    range: RANGES.find(days => range === `${days}`) ?? DEFAULT_RANGE,
  }
}
