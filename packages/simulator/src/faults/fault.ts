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

/** May lie in the past; without `from` and `to` it begins when the fault is set and ends with it. */
interface TimeSpan {
  readonly from?: EpochMs
  /** Not included. */
  readonly to?: EpochMs
}

/** A stretch of time in which nothing trades. */
interface Pause extends TimeSpan {
  /** Binance's klines of that time: with volume 0, or none. @default 'flat' */
  readonly klines?: 'flat' | 'none'
}

/** What a fault does. */
type FaultEffect =
  /** No stream frame, while pings are answered. What was held comes when it ends, if it is only late. */
  | { readonly kind: 'silence'; readonly delivery?: 'never' | 'late' }
  /** The connections that exist now stay open, but nothing is read and nothing is sent, not even a pong. */
  | { readonly kind: 'half-open' }
  /** The frame is replaced by bytes that are no frame. */
  | { readonly kind: 'garbage'; readonly shape: GarbageShape }
  /** The price in frames is multiplied. */
  | { readonly kind: 'price'; readonly factor: number }
  /** Connections are cut without a close frame: those that are open; with `forMs` new ones too. */
  | { readonly kind: 'drop' }
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
  /** Listed, but not trading, and no frame says so; Upbit's `state` is PREVIEW by default. */
  | ({ readonly kind: 'halt'; readonly state?: UpbitState } & Pause)
  /** The exchange does not trade and says nothing. */
  | ({ readonly kind: 'outage' } & Pause)
  /** Upbit tells of trades up to this much later, by a random time. */
  | ({ readonly kind: 'lag'; readonly maxMs: Milliseconds } & TimeSpan)
  /** Binance announces its end. */
  | { readonly kind: 'shutdown' }
  /** The exchange ignores something that it is asked for. */
  | { readonly kind: 'ignore'; readonly what: Ignored }
  /** A candle of Upbit is in responses only so long after its minute's end. */
  | { readonly kind: 'late-candles'; readonly lateMs: Milliseconds }
  /** REST responses, or those of paths that begin so, are empty, half as long or cut in the middle. */
  | { readonly kind: 'rest'; readonly mode: 'empty' | 'half' | 'truncated'; readonly path?: string }

/**
 * The format of Upbit's frames, which are DEFAULT then; a second subscription of an Upbit connection, which
 * brings no SNAPSHOTs then.
 */
export type Ignored = 'format' | 'resubscription'
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
  altered: number
}

/** What a fault may act on. */
export interface FaultTarget {
  readonly exchange: Exchange
  /** Left out when a frame or request belongs to no single market; then faults of one market do not match. */
  readonly market?: string | undefined
}

/** Whether a fault acts on this exchange and market. */
export function actsOn(fault: Fault, { exchange, market }: FaultTarget): boolean {
  if (fault.exchange !== 'both' && fault.exchange !== exchange) return false
  return fault.market === undefined || fault.market === market
}
