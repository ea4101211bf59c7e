import type { EpochMs, Milliseconds } from '../market/types.ts'
import { type ActiveFault, actsOn, type Fault, type FaultOf, type FaultTarget } from './fault.ts'

/** Kinds of faults that act on what happens at a time, not on frames; they stay in the past when over. */
type TimedKind = 'halt' | 'outage' | 'lag'

/** When a fault acted. */
interface Span<K extends TimedKind = TimedKind> {
  readonly fault: FaultOf<K>
  readonly from: EpochMs
  readonly to: EpochMs
}

/** When halts, outages and lags were. */
export interface Timeline {
  /** The fault of one of the kinds that acted on a market at an instant, and when it did. */
  find<K extends TimedKind>(kinds: readonly K[], target: FaultTarget, at: EpochMs): Span<K> | undefined
  /** The longest lag of trades that can still be on their way at an instant. */
  longestLag(at: EpochMs): Milliseconds
  /** Told of a fault that is set. */
  begin(active: ActiveFault): void
  /** Told of a fault that ends. */
  end(active: ActiveFault): void
}

/** The kinds of faults during which a market does not trade. */
export const PAUSES = ['halt', 'outage'] as const

/** An empty timeline. */
export function createTimeline(now: () => EpochMs): Timeline {
  const spans = new Map<number, Span>()
  return {
    find<K extends TimedKind>(kinds: readonly K[], target: FaultTarget, at: EpochMs) {
      for (const span of spans.values()) {
        if (at >= span.from && at < span.to && isOneOf(span, kinds) && actsOn(span.fault, target)) return span
      }
      return undefined
    },
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
      else spans.set(id, { ...span, to: Math.min(span.to, now()) })
    },
  }
}

function isOneOf<K extends TimedKind>(span: Span, kinds: readonly K[]): span is Span & Span<K> {
  return (kinds as readonly string[]).includes(span.fault.kind)
}

function isTimed(fault: Fault): fault is FaultOf<TimedKind> {
  return fault.kind === 'halt' || fault.kind === 'outage' || fault.kind === 'lag'
}
