import type { EpochMs, Exchange, Milliseconds } from '../market/types.ts'
import { type ActiveFault, actsOn, type Fault, type FaultOf } from './fault.ts'

/**
 * Kinds of faults that act on what happens at a time, and not on frames: they stay in the past when they are
 * over.
 */
type TimedKind = 'halt' | 'outage' | 'lag'

/** When halts, outages and lags were. */
export interface Timeline {
  /** The fault of one of the kinds that acted on a market at an instant. */
  find<K extends TimedKind>(
    kinds: readonly K[],
    exchange: Exchange,
    market: string,
    at: EpochMs,
  ): FaultOf<K> | undefined
  /** The start of the halt or outage that holds the instant. */
  pausedSince(exchange: Exchange, market: string, at: EpochMs): EpochMs | undefined
  /** The longest lag of trades that can still be on their way at an instant. */
  longestLag(at: EpochMs): Milliseconds
}

/** The kinds of faults during which a market does not trade. */
export const PAUSES = ['halt', 'outage'] as const

interface Span {
  readonly fault: FaultOf<TimedKind>
  readonly from: EpochMs
  to: EpochMs
}

/** An empty timeline, and what tells it of faults that are set and taken back. */
export function createTimeline(now: () => EpochMs): Timeline & {
  begin(active: ActiveFault): void
  end(active: ActiveFault): void
} {
  const spans = new Map<number, Span>()
  const holding = (kinds: readonly string[], exchange: Exchange, market: string, at: EpochMs) => {
    for (const span of spans.values()) {
      if (at < span.from || at >= span.to || !kinds.includes(span.fault.kind)) continue
      if (actsOn(span.fault, { exchange, market })) return span
    }
    return undefined
  }
  return {
    find: <K extends TimedKind>(kinds: readonly K[], exchange: Exchange, market: string, at: EpochMs) =>
      holding(kinds, exchange, market, at)?.fault as FaultOf<K> | undefined,
    pausedSince: (exchange, market, at) => holding(PAUSES, exchange, market, at)?.from,
    longestLag(at) {
      const lags = [...spans.values()].map(({ fault, to }) =>
        fault.kind === 'lag' && to + fault.maxMs > at ? fault.maxMs : 0,
      )
      return Math.max(0, ...lags)
    },
    begin({ id, fault, setAt }) {
      if (!isTimed(fault)) return
      const { from = setAt, to = Number.POSITIVE_INFINITY, forMs = Number.POSITIVE_INFINITY } = fault
      spans.set(id, { fault, from, to: Math.min(to, from + forMs) })
    },
    end({ id, fault }) {
      const span = spans.get(id)
      if (!span || !isTimed(fault)) return
      // What was put into the past by hand is taken out of it again.
      if (fault.from !== undefined) spans.delete(id)
      else span.to = Math.min(span.to, now())
    },
  }
}

function isTimed(fault: Fault): fault is FaultOf<TimedKind> {
  return fault.kind === 'halt' || fault.kind === 'outage' || fault.kind === 'lag'
}
