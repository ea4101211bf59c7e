import type { LiveList } from '@kimchi/client'
import { type Firing, targetName } from './alerts/alert.ts'
import { summarise } from './live/summary.ts'
import type { Texts } from './text/en.ts'
import type { Formats } from './text/format.ts'

/** The tab's title: an alert first, else the premium of the open coin, else the median. */
export function titleOf(
  list: LiveList | undefined,
  symbol: string | undefined,
  [alert]: readonly Firing[],
  t: Texts,
  f: Formats,
): string {
  const percent = (value: number) => `${f.percent(value)}%`
  if (alert) return `🔔 ${targetName(alert.target, t)} ${percent(alert.premium_pct)} · ${t.title}`
  const coins = list?.data ?? []
  const value = symbol ? coins.find(coin => coin.symbol === symbol)?.premium_pct : summarise(coins)?.median
  return [value !== undefined && percent(value), symbol, t.title].filter(Boolean).join(symbol ? ' · ' : ' ')
}
