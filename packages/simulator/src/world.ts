import type { createDayStats } from './day-stats.ts'
import type { FaultBoard } from './faults.ts'
import type { Markets } from './markets.ts'
import type { Prices } from './prices.ts'
import type { EpochMs, Milliseconds, SimulatorClock } from './types.ts'

/** What both exchanges share: the clock, the prices, the markets and the faults. */
export interface World {
  readonly clock: SimulatorClock
  readonly markets: Markets
  readonly prices: Prices
  readonly dayStats: ReturnType<typeof createDayStats>
  readonly faults: FaultBoard
  readonly keepalive: Keepalive
  /** Number of the newest connection; connections are counted from 1. */
  readonly lastConnection: { number: number }
  /** Whether request and message limits are enforced. */
  readonly limits: boolean
}

/** Time-outs of the WebSocket sides; `Infinity` turns one off. @see exchange-protocols §1, §3 */
export interface Keepalive {
  /** Binance pings this often. @default 20,000 */
  readonly binancePingMs: Milliseconds
  /** Binance cuts a connection without a pong for this long. @default 60,000 */
  readonly binancePongMs: Milliseconds
  /** Binance closes every connection at this age. @default 86,400,000 */
  readonly maxConnectionMs: Milliseconds
  /** Upbit closes a connection on which nothing arrived for this long. @default 120,000 */
  readonly upbitIdleMs: Milliseconds
  /** Upbit answers a text PING with a status this often. @default 10,000 */
  readonly upbitStatusMs: Milliseconds
}

/** One side of the simulator that sends frames as time passes. */
export interface StreamSide {
  /** Sends everything that is due in [from, to), in time order. */
  pump(from: EpochMs, to: EpochMs): void
}
