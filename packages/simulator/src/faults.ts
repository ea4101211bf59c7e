import type { EpochMs, Exchange, Milliseconds, SimulatorClock } from './types.ts'

/** Where and for how long a fault acts. Without `forMs` and `frames` it acts until it is taken back. */
export interface FaultScope {
  readonly exchange: Exchange | 'both'
  /** The exchange's own code, `KRW-BTC` or `BTCUSDT`. @default every market */
  readonly market?: string
  /** Ends this long after it was set, by the simulator's clock. */
  readonly forMs?: Milliseconds
  /** Ends after this many altered frames or answers. */
  readonly frames?: number
  /** Only connections that were open when the fault was set, or all. @default 'all', for half-open 'existing' */
  readonly connections?: 'existing' | 'all'
}

/** What a fault does. Faults alter frames and answers, never the candles of the past. */
export type FaultEffect =
  /** Open, pings answered, no stream frame. */
  | { readonly kind: 'stall' }
  /** Open, nothing read, nothing sent, not even a pong. */
  | { readonly kind: 'half-open' }
  /** No frame of one market. */
  | { readonly kind: 'silence' }
  /** The frame is replaced by something that is none. */
  | { readonly kind: 'garbage'; readonly shape: GarbageShape }
  /** The price is replaced by `value`, or taken away when that is 'missing', or multiplied by `factor`. */
  | { readonly kind: 'price'; readonly value?: number | string | null; readonly factor?: number }
  /** Connections are closed with `code`, or cut without a close frame; with `forMs` new ones too, else it is over at once. */
  | { readonly kind: 'drop'; readonly code?: number }
  /** WebSocket handshakes, REST requests or both are answered with a status, or never answered. */
  | { readonly kind: 'refuse'; readonly status: number | 'hang'; readonly on?: 'ws' | 'rest' | 'both' }
  /** Frames arrive `ms` later, in order. */
  | { readonly kind: 'delay'; readonly ms: Milliseconds }
  /** A frame changes places with the next one of its connection. */
  | { readonly kind: 'reorder' }
  /** A frame arrives twice. */
  | { readonly kind: 'duplicate' }
  /** The market is listed but does not trade. */
  | { readonly kind: 'halt'; readonly state?: 'PREVIEW' | 'DELISTED' }
  /** The market is gone from lists and streams. */
  | { readonly kind: 'delist' }
  /** Binance announces its end, and closes `closeAfterMs` later when that is given. */
  | { readonly kind: 'shutdown'; readonly closeAfterMs?: Milliseconds }
  /**
   * REST answers come `ms` late, with an empty list, half a list, or cut off; `path` limits it to paths that begin so.
   * Candles are never shortened.
   */
  | {
      readonly kind: 'rest'
      readonly mode: 'slow' | 'empty' | 'half' | 'truncated'
      readonly ms?: Milliseconds
      readonly path?: string
    }

/** The kinds of frame that are none; `masked` breaks the WebSocket protocol, `bomb` is 64 MiB packed into a few KiB. */
export type GarbageShape = 'truncated' | 'utf8' | 'nested' | 'huge' | 'noise' | 'masked' | 'bomb'

/** One thing that goes wrong, where and for how long. */
export type Fault = FaultScope & FaultEffect
/** What sorts of faults there are. */
export type FaultKind = Fault['kind']

/** A fault that is set. */
export interface ActiveFault<F extends Fault = Fault> {
  readonly id: number
  readonly fault: F
  readonly setAt: EpochMs
  /** Frames it has altered so far. */
  readonly altered: number
}

/** The switchboard of all faults. */
export interface FaultBoard {
  /** Sets a fault; the returned function takes it back and may be called more than once. */
  set(fault: Fault): () => void
  /** Everything that is set now, oldest first. */
  list(): readonly ActiveFault[]
  /** Takes back one fault by its id, or all. Returns how many were taken back. */
  clear(id?: number): number
  /** The first fault of `kind` that acts on this exchange, market and connection. */
  find<K extends FaultKind>(
    kind: K,
    target: FaultTarget,
  ): ActiveFault<Extract<Fault, { kind: K }>> | undefined
  /** Counts one altered frame and ends the fault when it was the last. */
  spend(active: ActiveFault): void
  /** Ends what is over by the clock. */
  expire(): void
  /** Hears of every fault that is set or ends. */
  onChange(listener: (change: 'set' | 'ended', active: ActiveFault) => void): void
}

/** What a fault may act on. */
export interface FaultTarget {
  readonly exchange: Exchange
  /** Left out when the frame belongs to no single market; then faults of one market do not match. */
  readonly market?: string | undefined
  readonly connection?: number | undefined
}

type Entry = { -readonly [K in keyof ActiveFault]: ActiveFault[K] }

/** An empty board. @param connectionsSoFar the number of the newest connection, to know which ones exist already */
export function createFaultBoard(clock: SimulatorClock, connectionsSoFar: () => number): FaultBoard {
  const entries = new Map<number, Entry & { readonly newest: number }>()
  const listeners: ((change: 'set' | 'ended', active: ActiveFault) => void)[] = []
  let ids = 0

  const end = (id: number): boolean => {
    const entry = entries.get(id)
    if (!entry) return false
    entries.delete(id)
    for (const listener of listeners) listener('ended', entry)
    return true
  }
  return {
    set(fault) {
      const entry = { id: ++ids, fault, setAt: clock.now(), altered: 0, newest: connectionsSoFar() }
      entries.set(entry.id, entry)
      for (const listener of listeners) listener('set', entry)
      return () => void end(entry.id)
    },
    list: () => [...entries.values()].map(({ id, fault, setAt, altered }) => ({ id, fault, setAt, altered })),
    clear: id => [...entries.keys()].filter(key => (id === undefined || key === id) && end(key)).length,
    find<K extends FaultKind>(kind: K, target: FaultTarget) {
      for (const entry of entries.values()) {
        if (!isOfKind(entry, kind) || !matches(entry.fault, target)) continue
        if (isForExisting(entry.fault) && (target.connection ?? 0) > entry.newest) continue
        return entry
      }
      return undefined
    },
    spend(active) {
      const entry = entries.get(active.id)
      if (!entry) return
      entry.altered += 1
      if (entry.fault.frames !== undefined && entry.altered >= entry.fault.frames) end(entry.id)
    },
    expire() {
      for (const { id, fault, setAt } of entries.values()) {
        if (fault.forMs !== undefined && clock.now() >= setAt + fault.forMs) end(id)
      }
    },
    onChange: listener => void listeners.push(listener),
  }
}

function isOfKind<E extends ActiveFault, K extends FaultKind>(
  entry: E,
  kind: K,
): entry is E & ActiveFault<Extract<Fault, { kind: K }>> {
  return entry.fault.kind === kind
}

function matches(fault: Fault, target: FaultTarget): boolean {
  if (fault.exchange !== 'both' && fault.exchange !== target.exchange) return false
  return fault.market === undefined || fault.market === target.market
}

function isForExisting(fault: Fault): boolean {
  return (fault.connections ?? (fault.kind === 'half-open' ? 'existing' : 'all')) === 'existing'
}
