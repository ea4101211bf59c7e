import type { LiveList } from '@kimchi/client'
import { summarise } from '../live/summary.ts'

/** Where an alert of the median is kept, beside those of coins; no coin is called so. */
export const MEDIAN = 'median'

/** When to say something. */
export interface Alert {
  /** At or above the threshold; else at or below it. */
  readonly isAbove: boolean
  /** Percent. */
  readonly threshold: number
}

/** Alerts by symbol, or {@link MEDIAN}. */
export type Alerts = Readonly<Record<string, Alert>>

/** An alert whose threshold is reached. */
export interface Firing extends Alert {
  /** Symbol, or {@link MEDIAN}. */
  readonly target: string
  /** Undefined for the median. */
  readonly symbol: string | undefined
  readonly premium_pct: number
}

/** The alerts whose threshold is reached in this list. A row older than the list fires nothing. */
export function firingOf(alerts: Alerts, { data, updated_at }: LiveList): Firing[] {
  return Object.entries(alerts).flatMap(([target, alert]) => {
    const row = data.find(coin => coin.symbol === target && coin.snapshot_at === updated_at)
    const value = target === MEDIAN ? summarise(data)?.median : row?.premium_pct
    if (value === undefined) return []
    const isReached = alert.isAbove ? value >= alert.threshold : value <= alert.threshold
    const symbol = target === MEDIAN ? undefined : target
    return isReached ? [{ ...alert, target, symbol, premium_pct: value }] : []
  })
}

/** A threshold as somebody typed it; undefined when it is no percentage. */
export function parseThreshold(text: string): number | undefined {
  const value = Number(text.replace(',', '.').replace('−', '-'))
  return text.trim() !== '' && Number.isFinite(value) && Math.abs(value) <= 1_000 ? value : undefined
}
