import type { EpochMs, Exchange, Milliseconds } from '../market/types.ts'

/** Where and for how long a fault acts. Without `forMs` and `frames` it acts until it is taken back. */
export interface FaultScope {
  readonly exchange: Exchange | 'both'
  /** The exchange's own code, `KRW-BTC` or `BTCUSDT`. @default every market */
  readonly market?: string
  /** Ends this long after it was set, by the simulator's clock. */
  readonly forMs?: Milliseconds
  /** Ends after this many altered frames or responses. */
  readonly frames?: number
}

/** Stretches in which nothing trades; without `from` and `to` from now on, until the fault ends. */
export interface PauseScope {
  /** First instant without trades; may lie in the past. @default when the fault is set */
  readonly from?: EpochMs
  /** First instant with trades again. @default when the fault ends */
  readonly to?: EpochMs
  /** What Binance writes for minutes without a trade: klines with volume 0, or none. @default 'flat' */
  readonly klines?: 'flat' | 'none'
}

/** What a fault does. */
export type FaultEffect =
  /** No stream frame, while connections stay open and pings are answered. */
  | { readonly kind: 'silence' }
  /** The connections that exist now stay open, but nothing is read and nothing is sent, not even a pong. */
  | { readonly kind: 'half-open' }
  /** The frame is replaced by bytes that are no frame. */
  | { readonly kind: 'garbage'; readonly shape: GarbageShape }
  /** The price in frames is multiplied. */
  | { readonly kind: 'price'; readonly factor: number }
  /** Connections are closed with `code`, or cut without a close frame; with `forMs` new ones too, else it is over at once. */
  | { readonly kind: 'drop'; readonly code?: number }
  /** WebSocket handshakes, REST requests or both are answered with a status, or never answered. */
  | { readonly kind: 'refuse'; readonly status: number | 'hang'; readonly on?: 'ws' | 'rest' | 'both' }
  /** The market is listed but does not trade. */
  | ({ readonly kind: 'halt'; readonly state?: 'PREVIEW' | 'DELISTED' } & PauseScope)
  /** The exchange does not trade and says nothing: no frames, no Upbit candles, Binance klines as `klines` has it. */
  | ({ readonly kind: 'outage' } & PauseScope)
  /** The market is gone from listings and streams. */
  | { readonly kind: 'delist' }
  /** Binance announces its end, and closes `closeAfterMs` later when that is given. */
  | { readonly kind: 'shutdown'; readonly closeAfterMs?: Milliseconds }
  /**
   * REST responses come `ms` late, with an empty list, half a list, or cut off; `path` limits it to paths that begin so.
   * Candles are never shortened.
   */
  | {
      readonly kind: 'rest'
      readonly mode: 'slow' | 'empty' | 'half' | 'truncated'
      readonly ms?: Milliseconds
      readonly path?: string
    }

/** The kinds of bytes that are no frame. */
export type GarbageShape = 'truncated' | 'utf8' | 'nested' | 'noise'

/** One thing that goes wrong, where and for how long. */
export type Fault = FaultScope & FaultEffect
/** What kinds of faults there are. */
export type FaultKind = Fault['kind']

/** A fault that is set. */
export interface ActiveFault<F extends Fault = Fault> {
  readonly id: number
  readonly fault: F
  readonly setAt: EpochMs
  /** Frames or responses it has altered so far. */
  readonly altered: number
}
