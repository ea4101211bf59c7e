import type { Milliseconds } from '@kimchi/core'
import type { openExchanges } from '../exchanges.ts'
import type { Oracle } from '../oracle.ts'
import type { DayRedis } from '../redis.ts'
import type { DayIngester, DayReplica } from '../service.ts'
import type { Host, World } from '../world.ts'

export interface DayParts {
  readonly world: World
  readonly exchanges: ReturnType<typeof openExchanges>
  readonly redis: DayRedis
  readonly ingesters: readonly DayIngester[]
  readonly replica: DayReplica
  /** Whether the ingesters track all coins, not those of a list. */
  readonly isAll: boolean
  readonly find: Oracle['find']
  readonly note: (what: string) => void
  readonly hasListed: Oracle['hasListed']
  /** Judges all that is stored of a coin. */
  readonly audit: (symbol: string) => Promise<void>
}

export type SimulatedFault = Parameters<DayParts['exchanges']['simulator']['faults']['set']>[0]
export type Exchange = 'upbit' | 'binance'

/** One kind of fault. */
export interface Kind {
  /** How long it lasts at least and at most, in minutes. */
  readonly minutes: readonly [number, number]
  /** Whether the service lives through it without losing a live minute. @default false */
  readonly sparesLive?: boolean
  /** Minutes after its end by which nothing is missing, by what docs/faults.md states. @default 5, and live again after 3 */
  readonly wholeWithin?: number
  /** Whether it loses frames, which shows when they are the last before a minute's end. @default false */
  readonly losesFrames?: boolean
  /** Begins it; the returned function ends it, where it doesn't end by itself. */
  begin(parts: DayParts, pick: Pick, forMs: Milliseconds): (() => unknown) | undefined | Promise<void>
}

/** What a fault draws from the seed. A coin or an ingester that it draws is the only one that it hits. */
export interface Pick {
  exchange(): Exchange
  ingester(): DayIngester
  /** An ingester's, or the replica's. */
  host(replica: Host): Host
  /** One of these coins, or of all, the quiet ones more often. */
  coin(...coins: readonly string[]): string
  of<T>(...choices: readonly T[]): T
  /**
   * A market that is about to halt: its coin may lack minutes.
   * @param leavesWithin by so many minutes the coin is off the list: docs/faults.md, 39. @default not demanded
   */
  halting(exchange: Exchange, leavesWithin?: number): string
  /** A coin may be held for halted for as long. */
  maybeHalting(coin: string): void
  /** An exchange is about to write no candles, or to answer no renewal: until its next trade a market may lack minutes. */
  lacking(what: 'no candles' | 'no SNAPSHOTs', exchange: Exchange): void
  /** A market that is about to be delisted, and listed again. */
  relisting(exchange: Exchange): string
  /** Live minutes may be lost for as long as it takes to recover from what happens now. */
  losingLive(): void
  /** A market whose frames are about to be lost, of which nothing tells. */
  unseen(exchange: Exchange): string
  between(from: number, to: number): number
}

export const market = (exchange: Exchange, coin: string) =>
  exchange === 'upbit' ? `KRW-${coin}` : `${coin}USDT`

export type Kinds = Readonly<Record<string, Kind>>

/** Whether it was not known yet; it is from now on. */
export const isFirst = (known: Set<string>, key: string) => known.size < known.add(key).size
