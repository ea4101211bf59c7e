import type { CoinPremium } from '@kimchi/client'
import { summarise } from '../live/summary.ts'
import type { Texts } from '../text/en.ts'
import type { Formats } from '../text/format.ts'

/** Target of the median's alert, beside the symbols of coins; no coin has this name. */
export const MEDIAN = 'median'

/** Bounds in percent that a premium is to reach: this or more, this or less. */
export interface Band {
  readonly above?: number | undefined
  readonly below?: number | undefined
}

/** Alerts by target: a symbol, or {@link MEDIAN}. */
export type Alerts = Readonly<Record<string, Band>>

export interface Firing {
  readonly target: string
  readonly premium_pct: number
  readonly bound: keyof Band
  /** Percent. */
  readonly threshold: number
}

/** The alerts of which these rows reach a bound. */
export function firingOf(alerts: Alerts, current: readonly CoinPremium[]): Firing[] {
  return Object.entries(alerts).flatMap(([target, { above = Infinity, below = -Infinity }]) => {
    const row = current.find(({ symbol }) => symbol === target)
    const premium_pct = (target === MEDIAN ? summarise(current)?.median : row?.premium_pct) ?? Number.NaN
    if (premium_pct >= above) return { target, premium_pct, bound: 'above', threshold: above }
    return premium_pct <= below ? { target, premium_pct, bound: 'below', threshold: below } : []
  })
}

export function targetName(target: string, t: Texts): string {
  return target === MEDIAN ? t.median : target
}

export function describe({ target, premium_pct, bound, threshold }: Firing, t: Texts, f: Formats): string {
  return `${targetName(target, t)} ${f.signed(premium_pct)}% (${threshold}% ${t[bound]})`
}
