import type { Gap } from '@kimchi/core'
import type { Held } from './coins/coins-without-rows.ts'
import { countReasons } from './minute/minute-loop.ts'

/** More coins that are held back are only counted. */
const NAMED_COINS = 10

/** Names the first of what is held back, and counts the others. */
export function nameSome(
  held: readonly Held[],
  name: (each: Held) => string,
  count: (more: number) => string,
): string[] {
  const more = held.length - NAMED_COINS
  return [...held.slice(0, NAMED_COINS).map(name), ...(more > 0 ? [count(more)] : [])]
}

/** How often each reason occurs, as a text. */
export function summarise(gaps: readonly Gap[]): string {
  const reasons = Object.entries(countReasons(gaps)).map(([reason, count]) => `${count} ${reason}`)
  return reasons.join(', ') || 'none'
}
