import type { CoinPremium } from '@kimchi/client'
import { type Firing, targetName } from './alerts/alert.ts'
import { summarise } from './live/summary.ts'
import type { Texts } from './text/en.ts'
import type { Formats } from './text/format.ts'

/** The tab's title: an alert first, else the premium of the open coin, else the median; no number that is not current. */
export function titleOf(
  current: readonly CoinPremium[],
  symbol: string | undefined,
  [alert]: readonly Firing[],
  t: Texts,
  f: Formats,
): string {
  const percent = (value: number) => `${f.signed(value)}%`
  if (alert) return `🔔 ${targetName(alert.target, t)} ${percent(alert.premium_pct)} · ${t.title} (USDT)`
  const row = current.find(coin => coin.symbol === symbol)
  const value = symbol ? row?.premium_pct : summarise(current)?.median
  return [value !== undefined && percent(value), symbol, `${t.title} (USDT)`]
    .filter(Boolean)
    .join(symbol ? ' · ' : ' ')
}
