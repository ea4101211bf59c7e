import type { EpochMs, Exchange, Milliseconds } from '../market/types.ts'

/** Where and for how long a fault acts. Without `forMs` it acts until somebody ends it. */
interface Scope {
  readonly exchange: Exchange
  /** Its length, by the simulator's clock. */
  readonly forMs?: Milliseconds
}

/** The market that a fault hits; all when absent. */
interface OfMarket {
  readonly market?: string
}

/**
 * A stretch of time in which nothing trades, maybe in the past; without `from` it begins when it is set, `to` is not
 * included. Binance's klines of it have volume 0, or there are none.
 */
interface Pause extends OfMarket {
  readonly from?: EpochMs
  readonly to?: EpochMs
  readonly klines?: 'flat' | 'none'
}

/** @param requested path and query @param caller its address, or name */
type AlterRows = (rows: readonly unknown[], requested: string, caller: string) => readonly unknown[]

/** What goes wrong, by the kinds of faults, with the fields of each. */
interface Kinds {
  /** No stream frame comes, while pings are answered. Frames that are `late` come when the silence ends. */
  silence: OfMarket & { readonly delivery?: 'never' | 'late' }
  /** The connections that exist now stay open, but nothing is read and nothing is sent, not even a pong. */
  'half-open': object
  /** The frame is replaced by bytes that are no frame. */
  garbage: OfMarket & { readonly shape: 'truncated' | 'utf8' | 'nested' | 'noise' }
  /** The price in frames is multiplied or, where it `isTrue`, that of the trades of which frames and candles are made. */
  price: OfMarket & { readonly factor: number | ((at: EpochMs) => number); readonly isTrue?: boolean }
  /** Fields of frames are others; one that is undefined is missing. */
  fields: OfMarket & { readonly alter: (frame: Readonly<Record<string, unknown>>) => object }
  /** Connections are cut without a close frame: those that are open; with `forMs` new ones too. */
  drop: object
  /** Handshakes, REST requests or both (the default) get a status, or no response at all. */
  refuse: OfMarket & {
    readonly status: number | 'hang'
    readonly on?: 'ws' | 'rest' | 'both'
    /** Only paths that begin so. */
    readonly path?: string
    /** Only at this host, where the network has several. */
    readonly host?: string
    /** Share of requests that are refused, from 0 to 1; all by default. */
    readonly share?: number
    /** The Retry-After header, seconds or a date; none by default. */
    readonly retryAfter?: number | string
  }
  /** Listed, but not trading, and no frame says so. */
  halt: Pause
  /** The exchange does not trade and says nothing. */
  outage: Pause
  /** Upbit publishes trades, or a share of them, later by a random time of `minMs` (0 by default) to `maxMs`. */
  lag: { readonly maxMs: Milliseconds; readonly minMs?: Milliseconds; readonly share?: number }
  /** Binance announces that it will close the connection. */
  shutdown: object
  /** Upbit sends SNAPSHOTs only for the first subscription of a connection. */
  'snapshots-once': object
  /** How long after its minute's end an Upbit candle appears in responses. */
  'late-candles': { readonly lateMs: Milliseconds }
  /** Upbit refuses every subscription that names the market: an error frame, then the end. */
  reject: { readonly market: string }
  /** The lists of REST responses, or of paths that begin so, have other rows, or the responses end in the middle. */
  rest: { readonly path?: string; readonly alter: AlterRows | 'cut' }
}

export type FaultKind = keyof Kinds
/** One thing that goes wrong, where and for how long. */
export type Fault = { [K in FaultKind]: { readonly kind: K } & Scope & Kinds[K] }[FaultKind]
export type FaultOf<K extends FaultKind> = Extract<Fault, { kind: K }>
