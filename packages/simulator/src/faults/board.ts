import type { EpochMs, Milliseconds, SimulatorClock } from '../market/types.ts'
import {
  type ActiveFault,
  actsOn,
  type Fault,
  type FaultKind,
  type FaultOf,
  type FaultTarget,
} from './fault.ts'

/** What happens to a fault. */
export type FaultChange = 'set' | 'ended'
type FaultListener = (change: FaultChange, active: ActiveFault) => void

type Test<K extends FaultKind> = (fault: FaultOf<K>) => boolean
type Found<K extends FaultKind> = ActiveFault<FaultOf<K>> | undefined

/** The faults that are set. */
export type FaultBoard = ReturnType<typeof createFaultBoard>

/** A board without faults. @param settle sends what is due before somebody sets or ends a fault */
export function createFaultBoard(clock: SimulatorClock, settle: () => void) {
  const entries = new Map<number, ActiveFault>()
  const listeners: FaultListener[] = []
  const timeline = createTimeline(clock.now)
  let ids = 0

  const end = (id: number): boolean => {
    const entry = entries.get(id)
    if (!entry) return false
    entries.delete(id)
    timeline.end(entry)
    for (const listener of listeners) listener('ended', entry)
    return true
  }
  /** Ends one fault by its id, or all. Returns how many it ended. */
  const clear = (id?: number): number => {
    settle()
    return [...entries.keys()].filter(key => (id === undefined || key === id) && end(key)).length
  }
  return {
    timeline,
    clear,
    /** Sets a fault; the returned function ends it and may be called more than once. */
    set(fault: Fault): () => void {
      settle()
      const entry: ActiveFault = { id: ++ids, fault, setAt: clock.now(), altered: 0 }
      entries.set(entry.id, entry)
      timeline.begin(entry)
      for (const listener of listeners) listener('set', entry)
      if (isMoment(fault)) end(entry.id)
      return () => void clear(entry.id)
    },
    /** Everything that is set now, oldest first. */
    list: (): readonly ActiveFault[] => [...entries.values()],
    /** The first fault of `kind` that acts on the target, and that `accepts` lets pass. */
    find<K extends FaultKind>(kind: K, target: FaultTarget, accepts: Test<K> = () => true): Found<K> {
      for (const entry of entries.values()) {
        if (isOfKind(entry, kind) && actsOn(entry.fault, target) && accepts(entry.fault)) return entry
      }
      return undefined
    },
    /** Counts one altered frame or response, and ends the fault when it was the last. */
    spend({ id }: ActiveFault) {
      const entry = entries.get(id)
      if (!entry) return
      entry.altered += 1
      if (entry.fault.frames !== undefined && entry.altered >= entry.fault.frames) end(id)
    },
    /** When the next fault ends by its `forMs`; Infinity when none does. */
    nextEnd: (): EpochMs => Math.min(...[...entries.values()].map(endOf)),
    /** Ends what is over at an instant. */
    expire(at: EpochMs) {
      for (const entry of entries.values()) if (endOf(entry) <= at) end(entry.id)
    },
    onChange: (listener: FaultListener) => void listeners.push(listener),
  }
}

/** Whether a fault is over as soon as it is set. */
function isMoment({ kind, forMs }: Fault): boolean {
  return kind === 'shutdown' || (kind === 'drop' && forMs === undefined)
}

function endOf({ fault, setAt }: ActiveFault): EpochMs {
  return setAt + (fault.forMs ?? Number.POSITIVE_INFINITY)
}

function isOfKind<K extends FaultKind>(active: ActiveFault, kind: K): active is ActiveFault<FaultOf<K>> {
  return active.fault.kind === kind
}

/** Kinds of faults that act on what happens at a time, not on frames; they stay in the past when over. */
type TimedKind = 'halt' | 'outage' | 'lag'

/** When a fault acted. */
interface Span<K extends TimedKind = TimedKind> {
  readonly fault: FaultOf<K>
  readonly from: EpochMs
  readonly to: EpochMs
}

/** When halts, outages and lags were. */
export type Timeline = ReturnType<typeof createTimeline>

/** The kinds of faults during which a market does not trade. */
export const PAUSES = ['halt', 'outage'] as const

/** An empty timeline. */
function createTimeline(now: () => EpochMs) {
  const spans = new Map<number, Span>()
  return {
    /** The fault of one of the kinds that acted on a market at an instant, and when it did. */
    find<K extends TimedKind>(kinds: readonly K[], target: FaultTarget, at: EpochMs): Span<K> | undefined {
      for (const span of spans.values()) {
        if (at >= span.from && at < span.to && isOneOf(span, kinds) && actsOn(span.fault, target)) return span
      }
      return undefined
    },
    /** The longest lag of trades that can still be on their way at an instant. */
    longestLag(at: EpochMs): Milliseconds {
      const lags = [...spans.values()].map(({ fault, to }) =>
        fault.kind === 'lag' && to + fault.maxMs > at ? fault.maxMs : 0,
      )
      return Math.max(0, ...lags)
    },
    begin({ id, fault, setAt }: ActiveFault) {
      if (!isTimed(fault)) return
      const { from = setAt, to = Number.POSITIVE_INFINITY, forMs = Number.POSITIVE_INFINITY } = fault
      spans.set(id, { fault, from, to: Math.min(to, from + forMs) })
    },
    end({ id, fault }: ActiveFault) {
      const span = spans.get(id)
      if (!span || !isTimed(fault)) return
      // A fault that was set for the past by hand leaves no trace there.
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
