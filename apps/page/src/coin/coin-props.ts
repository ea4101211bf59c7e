import type { Client, CoinPremium } from '@kimchi/client'
import type { Theme } from '../header.tsx'
import type { Shelf } from '../storage.ts'

/** What a coin's view is drawn from. */
export interface CoinProps {
  readonly symbol: string
  /** The coin's live row; undefined while it has none. */
  readonly row: CoinPremium | undefined
  readonly client: Client
  readonly shelf: Shelf
  readonly theme: Theme
}
