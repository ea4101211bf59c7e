import type { LiveList } from '@kimchi/client'
import type { Firing } from './alerts/alert.ts'
import { summarise } from './live/summary.ts'
import type { View } from './view.ts'

/** What a title is made from. */
export interface Titled {
  readonly list: LiveList | undefined
  readonly symbol: string | undefined
  readonly firing: readonly Firing[]
}

/** The tab's title: an alert first, else the premium of the coin, or the median's. */
export function titleOf({ list, symbol, firing }: Titled, { t, f }: Pick<View, 't' | 'f'>): string {
  const percent = (value: number) => `${f.percent(value)[0]}%`
  const [alert] = firing
  if (alert) return `🔔 ${alert.symbol ?? t.median} ${percent(alert.premium_pct)} · ${t.title}`
  const coins = list?.data ?? []
  const value = symbol ? coins.find(coin => coin.symbol === symbol)?.premium_pct : summarise(coins)?.median
  return [value !== undefined && percent(value), symbol, t.title].filter(Boolean).join(symbol ? ' · ' : ' ')
}
