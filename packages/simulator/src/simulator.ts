import type { SentFrame } from './connection.ts'
import type { FaultBoard } from './faults.ts'
import type { Prices } from './prices.ts'
import type { EpochMs, Exchange, SimulatedCoin, SimulatorClock } from './types.ts'
import type { Keepalive } from './world.ts'

/** How a simulator is started; everything has a working default. */
export interface SimulatorOptions {
  /** @default '127.0.0.1' */
  readonly host?: string
  /** @default 0, a free port */
  readonly port?: number
  /** The same seed gives the same prices. @default 'kimchi' */
  readonly seed?: string
  /** @default DEFAULT_COINS */
  readonly coins?: readonly SimulatedCoin[]
  /** Multiplies the number of trades of every market; prices of different speeds differ. @default 1 */
  readonly speed?: number
  /** @default the system's clock */
  readonly clock?: SimulatorClock
  /** How often due frames are sent by itself, in milliseconds; 0 leaves it to `pump()`. @default 20 */
  readonly pumpMs?: number
  /** Enforce request, message and connection limits. @default true */
  readonly limits?: boolean
  /** Time-outs of the WebSocket sides. @default the exchanges' own */
  readonly keepalive?: Partial<Keepalive>
  /** Close Binance connections at this age, in milliseconds. @default 24 hours */
  readonly maxConnectionMs?: number
  /** Keep every frame sent in `frames`. @default false */
  readonly record?: boolean
  /** Hears of every frame sent. */
  readonly onFrame?: (frame: SentFrame) => void
}

/** A running simulator of both exchanges on one port. */
export interface Simulator {
  /** `http://host:port` */
  readonly url: string
  /** The whole URL of Upbit's WebSocket. */
  readonly upbitWsUrl: string
  /** The part of Upbit's REST URLs before `/v1`. */
  readonly upbitRestUrl: string
  /** The part of Binance's WebSocket URLs before `/stream` or `/ws`. */
  readonly binanceWsUrl: string
  /** The part of Binance's REST URLs before `/api/v3`. */
  readonly binanceRestUrl: string
  readonly prices: Prices
  readonly faults: FaultBoard
  /** Every frame sent so far, when `record` is on. */
  readonly frames: readonly SentFrame[]
  /** Number of open connections. */
  connections(exchange: Exchange): number
  /** Sends everything that is due until the clock's present; returns that instant. */
  pump(): EpochMs
  /** Adds a coin's markets while running, or changes their listing. */
  list(coin: SimulatedCoin): void
  /** Takes a market from lists and streams; its candles stay. The returned function brings it back. */
  delist(market: string): () => void
  /** Closes the port and every connection. May be called more than once. */
  close(): Promise<void>
}
