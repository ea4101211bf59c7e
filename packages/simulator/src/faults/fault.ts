import type { EpochMs, Exchange, Milliseconds, UpbitState } from '../market/types.ts'

/** Where and for how long a fault acts. Without `forMs` and `frames` it acts until it is taken back. */
interface FaultScope {
  readonly exchange: Exchange | 'both'
  /** The exchange's own code, `KRW-BTC` or `BTCUSDT`. @default every market */
  readonly market?: string
  /** Ends this long after it was set, by the simulator's clock. */
  readonly forMs?: Milliseconds
  /** Ends after this many altered frames or responses. */
  readonly frames?: number
}

/** A stretch of time; without `from` and `to` it begins now and ends with the fault. */
interface TimeSpan {
  /** May lie in the past. @default when the fault is set */
  readonly from?: EpochMs
  /** Not included. @default when the fault ends */
  readonly to?: EpochMs
}

/** What Binance does while nothing trades. */
interface WithoutTrades {
  /** Klines with volume 0, or none. @default 'flat' */
  readonly klines?: 'flat' | 'none'
  /** Goes on sending miniTickers as old trades leave the 24-hour window. @default false */
  readonly rolling?: boolean
}

/** What a fault does. */
type FaultEffect =
  /**
   * No stream frame, while connections stay open and pings are answered. What was held comes when it ends, if
   * it is only late.
   */
  | { readonly kind: 'silence'; readonly delivery?: 'never' | 'late' }
  /** The connections that exist now stay open, but nothing is read and nothing is sent, not even a pong. */
  | { readonly kind: 'half-open' }
  /** The frame is replaced by bytes that are no frame. */
  | { readonly kind: 'garbage'; readonly shape: GarbageShape }
  /** The price in frames is multiplied. */
  | { readonly kind: 'price'; readonly factor: number }
  /**
   * Connections are closed with `code`, or cut without a close frame: those that are open; with `forMs` new
   * ones too; with `afterFrames` each one after that many stream frames.
   */
  | { readonly kind: 'drop'; readonly code?: number; readonly afterFrames?: number }
  /** An error frame follows the SNAPSHOTs (Upbit) or the acknowledgement (Binance) of each subscription. */
  | { readonly kind: 'error'; readonly name?: string }
  /** Handshakes, REST requests or both get a status, or no response at all. */
  | {
      readonly kind: 'refuse'
      readonly status: number | 'hang'
      /** @default 'both' */
      readonly on?: 'ws' | 'rest' | 'both'
      /** Only paths that begin so. */
      readonly path?: string
      /** Share of requests that are refused, from 0 to 1. @default 1 */
      readonly share?: number
      /** The Retry-After header, in seconds or as a date. @default no header */
      readonly retryAfter?: number | string
    }
  /** The market is listed but does not trade, and no frame says so. */
  | ({
      readonly kind: 'halt'
      /** Upbit's market_state. @default 'PREVIEW' */
      readonly state?: UpbitState
      /** Upbit's is_trading_suspended. @default true */
      readonly suspended?: boolean
      /** Binance's status. @default 'BREAK' */
      readonly status?: 'HALT' | 'BREAK'
    } & TimeSpan &
      WithoutTrades)
  /** The exchange does not trade and says nothing. */
  | ({ readonly kind: 'outage' } & TimeSpan & WithoutTrades)
  /** Trades reach frames this much later: on Upbit a random time between both, on Binance always `maxMs`. */
  | ({ readonly kind: 'lag'; readonly minMs?: Milliseconds; readonly maxMs: Milliseconds } & TimeSpan)
  /** Upbit leaves these fields out of its tickers. */
  | { readonly kind: 'omit'; readonly fields: readonly string[] }
  /** The market is gone from listings and streams. */
  | { readonly kind: 'delist' }
  /** Binance announces its end, and closes `closeAfterMs` later when that is given. */
  | { readonly kind: 'shutdown'; readonly closeAfterMs?: Milliseconds }
  /** REST responses come `ms` late, with an empty or half a list, or cut off. Candles are never shortened. */
  | {
      readonly kind: 'rest'
      readonly mode: 'slow' | 'empty' | 'half' | 'truncated'
      /** @default 1,000 */
      readonly ms?: Milliseconds
      /** Only paths that begin so. */
      readonly path?: string
    }

/** The kinds of bytes that are no frame. */
export type GarbageShape = 'truncated' | 'utf8' | 'nested' | 'noise'

/** One thing that goes wrong, where and for how long. */
export type Fault = FaultScope & FaultEffect
/** What kinds of faults there are. */
export type FaultKind = Fault['kind']
/** A fault of one kind. */
export type FaultOf<K extends FaultKind> = Extract<Fault, { kind: K }>

/** A fault that is set. */
export interface ActiveFault<F extends Fault = Fault> {
  readonly id: number
  readonly fault: F
  readonly setAt: EpochMs
  /** Frames or responses it has altered so far. */
  readonly altered: number
}

/** What a fault may act on. */
export interface FaultTarget {
  readonly exchange: Exchange
  /** Left out when a frame or request belongs to no single market; then faults of one market do not match. */
  readonly market?: string | undefined
  /** Number of the connection, counted from 1. */
  readonly connection?: number | undefined
}

/** Whether a fault acts on this exchange and market. */
export function actsOn(fault: Fault, { exchange, market }: FaultTarget): boolean {
  if (fault.exchange !== 'both' && fault.exchange !== exchange) return false
  return fault.market === undefined || fault.market === market
}
