import { Faults } from '../faults/faults.ts'
import { DEFAULT_COINS } from './coins.ts'
import { createListings } from './listings.ts'
import { createPrices } from './prices.ts'
import type { EpochMs, Exchange, SimulatedCoin, SimulatorClock } from './types.ts'

/** One frame as it left the simulator. */
export interface SentFrame {
  readonly exchange: Exchange
  /** Number of the connection, counted from 1 over both exchanges. */
  readonly connection: number
  readonly text: string
}

/** One REST request to an exchange, also one that a fault refuses. */
export interface RestRequest {
  readonly exchange: Exchange
  readonly path: string
  /** The one market it names, if it names one. */
  readonly market?: string | undefined
}

export interface SimulatorOptions {
  /** @default '127.0.0.1' */
  readonly host?: string
  /** @default 0, a free port */
  readonly port?: number
  /** Seeds all that is random: the same seed gives the same prices. @default 'kimchi' */
  readonly seed?: string
  /** @default DEFAULT_COINS */
  readonly coins?: readonly SimulatedCoin[]
  /** Multiplies the number of trades of every market; prices of different speeds differ. @default 1 */
  readonly speed?: number
  /** @default the system's clock */
  readonly clock?: SimulatorClock
  /** How often due frames are sent by itself, in real milliseconds; 0 leaves it to `pump()`. @default 20 */
  readonly pumpMs?: number
  /** Multiplies the exchanges' limits of requests, messages, connections and idle time; `false` for none. @default 1 */
  readonly limits?: number | false
  readonly onFrame?: (frame: SentFrame) => void
  readonly onRequest?: (request: RestRequest) => void
}

/** What both exchanges share. */
export type SimulatedExchanges = ReturnType<typeof createExchanges>

/** Both exchanges without their connections. @param settle sends what is due until now, and returns that instant */
export function createExchanges(options: SimulatorOptions, settle: () => EpochMs) {
  const { clock = Date, coins = DEFAULT_COINS, seed = 'kimchi', speed = 1, limits = 1 } = options
  const { onFrame = () => {}, onRequest = () => {} } = options
  const listings = createListings(coins, speed)
  const faults = new Faults(clock, settle)
  const prices = createPrices(seed, listings, faults)
  const limitFactor = limits === false ? Number.POSITIVE_INFINITY : limits
  return { clock, listings, prices, faults, limitFactor, onFrame, onRequest, settle }
}
