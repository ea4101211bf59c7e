import type { FaultBoard } from '../faults/board.ts'
import type { Markets } from './markets.ts'
import type { Prices } from './prices.ts'
import type { SimulatorClock } from './types.ts'

/** What both exchanges share. */
export interface SimulatedExchanges {
  readonly clock: SimulatorClock
  readonly markets: Markets
  readonly prices: Prices
  readonly faults: FaultBoard
  /** By how much the exchanges' limits are multiplied; Infinity for none. */
  readonly limitFactor: number
}
