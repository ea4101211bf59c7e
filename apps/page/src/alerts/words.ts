import type { View } from '../view.ts'
import type { Firing } from './alert.ts'

/** An alert that fires, as a sentence. */
export function describe(
  { symbol, premium_pct, isAbove, threshold }: Firing,
  { t, f }: Pick<View, 't' | 'f'>,
): string {
  return `${symbol ?? t.median} ${f.percent(premium_pct)[0]}% (${threshold}% ${isAbove ? t.orAbove : t.orBelow})`
}
