import type { CoinPremium } from '@kimchi/client'
import { summarise } from '../live/summary.ts'
import type { Texts } from '../text/en.ts'
import type { Formats } from '../text/format.ts'

/** Target of the median's alert, beside the symbols of coins; no coin has this name. */
export const MEDIAN = 'median'

export interface Alert {
  /** At or above the threshold; else at or below it. */
  readonly isAbove: boolean
  /** Percent. */
  readonly threshold: number
}

/** Alerts by target: a symbol, or {@link MEDIAN}. */
export type Alerts = Readonly<Record<string, Alert>>

export interface Firing extends Alert {
  readonly target: string
  readonly premium_pct: number
}

/** The alerts whose threshold is reached in these rows. */
export function firingOf(alerts: Alerts, current: readonly CoinPremium[]): Firing[] {
  return Object.entries(alerts).flatMap(([target, alert]) => {
    const row = current.find(({ symbol }) => symbol === target)
    const value = target === MEDIAN ? summarise(current)?.median : row?.premium_pct
    if (value === undefined) return []
    const isReached = alert.isAbove ? value >= alert.threshold : value <= alert.threshold
    return isReached ? [{ ...alert, target, premium_pct: value }] : []
  })
}

export function targetName(target: string, t: Texts): string {
  return target === MEDIAN ? t.median : target
}

export function describe(alert: Firing, t: Texts, f: Formats): string {
  const { target, premium_pct, isAbove, threshold } = alert
  const bound = `${threshold}% ${isAbove ? t.orAbove : t.orBelow}`
  return `${targetName(target, t)} ${f.signed(premium_pct)}% (${bound})`
}
