import type { Faults } from '../faults/faults.ts'
import type { Markets } from './markets.ts'
import type { Prices } from './prices.ts'
import type { EpochMs, Exchange, SimulatorClock } from './types.ts'

/** One frame as it left the simulator. */
export interface SentFrame {
  readonly exchange: Exchange
  /** Number of the connection, counted from 1 over both exchanges. */
  readonly connection: number
  readonly text: string
}

/** One REST request to an exchange, and the status of its response. */
export interface RestRequest {
  readonly exchange: Exchange
  readonly at: EpochMs
  readonly path: string
  /** The one market it names, if it names one. */
  readonly market?: string
  readonly status: number | 'hang'
}

/** What both exchanges share. */
export interface SimulatedExchanges {
  readonly clock: SimulatorClock
  readonly markets: Markets
  readonly prices: Prices
  readonly faults: Faults
  /** By how much the exchanges' limits are multiplied; Infinity for none. */
  readonly limitFactor: number
  /** Called for every frame sent. */
  readonly onFrame: (frame: SentFrame) => void
  /** Called for every REST request. */
  readonly onRequest: (request: RestRequest) => void
}
