import type { Client, CoinPremium } from '@kimchi/client'
import type { AlertsOnDevice } from '../alerts/use-alerts.ts'
import type { Theme } from '../header.tsx'
import type { Shelf } from '../storage.ts'

/** What a coin's view is drawn from. */
export interface CoinProps {
  readonly symbol: string
  /** Days shown. */
  readonly range: number
  /** The coin's live row; undefined while it has none. */
  readonly row: CoinPremium | undefined
  /** The minute of the live list; undefined while the list does not answer. */
  readonly minute: string | undefined
  readonly client: Client
  readonly shelf: Shelf
  readonly theme: Theme
  readonly alerts: AlertsOnDevice
}
