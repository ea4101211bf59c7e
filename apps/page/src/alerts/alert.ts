import { type CoinPremium, resolutionPct } from '@kimchi/client'
import { changeSince } from '../coin/days.ts'
import { summarise } from '../live/summary.ts'
import type { Texts } from '../text/en.ts'
import type { Formats } from '../text/format.ts'

/** Target of the median's alert, beside the symbols of coins; no coin has this name. */
export const MEDIAN = 'median'

/** The bounds of an alert, with their signs. */
export const SIGNS = { above: '≥', below: '≤' } as const

type Bound = keyof typeof SIGNS

export const BOUNDS = Object.keys(SIGNS) as Bound[]

/** Bounds in percent that a premium is to reach: this or more, this or less. */
export type Band = { readonly [bound in Bound]?: number | undefined }

/** Alerts by target: a symbol, or {@link MEDIAN}. */
export type Alerts = Readonly<Record<string, Band>>

export interface Firing {
  readonly target: string
  readonly premium_pct: number
  readonly bound: Bound
  /** Percent. */
  readonly threshold: number
}

/** Thresholds of which somebody has been told, by {@link keyOf}. */
export type Told = Readonly<Record<string, number>>

/** A bound is told of again once the premium was back by this many points, or by its resolution if that is more. */
const RETURN_POINTS = 0.1

/** Each bound of the alerts with what these rows say of it: nothing, where they lack the target. */
function compare(alerts: Alerts, current: readonly CoinPremium[]) {
  return Object.entries(alerts).flatMap(([target, band]) => {
    const row = current.find(({ symbol }) => symbol === target)
    const premium_pct = (target === MEDIAN ? summarise(current)?.median : row?.premium_pct) ?? Number.NaN
    const margin = Math.max(RETURN_POINTS, row ? resolutionPct(row) : 0)
    return BOUNDS.flatMap(bound => {
      const threshold = band[bound]
      if (threshold === undefined) return []
      const beyond = (bound === 'above' ? 1 : -1) * (changeSince(threshold, premium_pct) ?? Number.NaN)
      return { target, premium_pct, bound, threshold, isReached: beyond >= 0, isBack: beyond <= -margin }
    })
  })
}

/** The alerts of which these rows reach a bound. */
export function firingOf(alerts: Alerts, current: readonly CoinPremium[]): Firing[] {
  return compare(alerts, current).filter(({ isReached }) => isReached)
}

export const keyOf = ({ target, bound }: Pick<Firing, 'target' | 'bound'>) => `${target} ${bound}`

/** The alerts that count as told after these rows: one that fires, and one whose premium is not back yet. */
export function toldAfter(told: Told, alerts: Alerts, current: readonly CoinPremium[]): Told {
  const known = compare(alerts, current).filter(
    one => one.isReached || (told[keyOf(one)] === one.threshold && !one.isBack),
  )
  return Object.fromEntries(known.map(one => [keyOf(one), one.threshold]))
}

export function targetName(target: string, t: Texts): string {
  return target === MEDIAN ? t.median : target
}

export function describe({ target, premium_pct, bound, threshold }: Firing, t: Texts, f: Formats): string {
  return `${targetName(target, t)} ${f.signed(premium_pct)}% (USDT, ${threshold}% ${t[bound]})`
}
