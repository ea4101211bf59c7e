import { distance } from 'fastest-levenshtein'

/** How many are named. */
const NAMED = 3

/**
 * What someone who wrote `symbol` may have meant, as the end of a sentence: ` (did you mean BTC, BCH?)`, or
 * an empty text. Looks at tickers and at names, so that `BITCOIN` finds `BTC`.
 */
export function nearMatches(symbol: string, known: readonly { base: string; name: string }[]): string {
  const reach = Math.max(1, Math.floor(symbol.length / 3))
  const near = known
    .map(({ base, name }) => ({
      base,
      steps: Math.min(distance(symbol, base), distance(symbol, name.toUpperCase())),
    }))
    .filter(({ steps }) => steps <= reach)
    .sort((a, b) => a.steps - b.steps || (a.base < b.base ? -1 : 1))
    .slice(0, NAMED)
    .map(({ base }) => base)
  return near.length === 0 ? '' : ` (did you mean ${near.join(', ')}?)`
}
