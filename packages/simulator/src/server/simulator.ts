import type { Faults } from '../faults/board.ts'
import type { Prices } from '../market/prices.ts'
import type { EpochMs, Exchange, SimulatedCoin, SimulatorClock } from '../market/types.ts'
import type { SentFrame } from './connection.ts'
import type { RestRequest } from './requests.ts'

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
  /** Multiplies the exchanges' limits of requests, messages and connections; `false` for none. @default 1 */
  readonly limits?: number | false
  /** Called for every frame sent. */
  readonly onFrame?: (frame: SentFrame) => void
  /** Called for every REST request. */
  readonly onRequest?: (request: RestRequest) => void
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
  readonly faults: Faults
  /**
   * Event time and price of the newest frame that the exchange makes with an event time before an instant,
   * received by anyone or not: Upbit's last trade, Binance's last miniTicker by `E`. Price faults are left
   * out.
   */
  lastFrame(
    exchange: Exchange,
    market: string,
    before: EpochMs,
  ): { readonly eventAt: EpochMs; readonly price: number } | undefined
  /** Number of open connections. */
  connections(exchange: Exchange): number
  /** Sends everything that is due until now; returns that instant. */
  pump(): EpochMs
  /** Adds a coin's markets while running, or changes their listing. */
  list(coin: SimulatedCoin): void
  /** Takes a market from listings and streams; the returned function brings it back. */
  delist(market: string): () => void
  /** Closes the port and every connection. May be called more than once. */
  close(): Promise<void>
}
