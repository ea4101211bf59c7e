import type { EpochMs, SimulatorClock } from '../market/types.ts'
import {
  type ActiveFault,
  actsOn,
  type Fault,
  type FaultKind,
  type FaultOf,
  type FaultTarget,
} from './fault.ts'
import { createTimeline, type Timeline } from './timeline.ts'

/** The faults as a test or a person sets them. */
export interface Faults {
  /** Sets a fault; the returned function takes it back and may be called more than once. */
  set(fault: Fault): () => void
  /** Everything that is set now, oldest first. */
  list(): readonly ActiveFault[]
  /** Takes back one fault by its id, or all. Returns how many were taken back. */
  clear(id?: number): number
}

/** Called when a fault is set or ends. */
export type FaultListener = (change: 'set' | 'ended', active: ActiveFault) => void

/** The faults as the exchanges obey them. */
export interface FaultBoard extends Faults {
  /** The first fault of `kind` that acts on the target, and that `accepts` lets pass. */
  find<K extends FaultKind>(
    kind: K,
    target: FaultTarget,
    accepts?: (fault: FaultOf<K>) => boolean,
  ): ActiveFault<FaultOf<K>> | undefined
  /** Counts one altered frame or response, and ends the fault when it was the last. */
  spend(active: ActiveFault): void
  /** When the next fault ends by its `forMs`; Infinity when none does. */
  nextEnd(): EpochMs
  /** Ends what is over at an instant. */
  expire(at: EpochMs): void
  onChange(listener: FaultListener): void
  readonly timeline: Timeline
}

type Entry = { -readonly [K in keyof ActiveFault]: ActiveFault[K] } & { readonly newest: number }

/** A board without faults. @param newestConnection its number, to know which connections exist already */
export function createFaultBoard(clock: SimulatorClock, newestConnection: () => number): FaultBoard {
  const entries = new Map<number, Entry>()
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
  return {
    timeline,
    set(fault) {
      const entry = { id: ++ids, fault, setAt: clock.now(), altered: 0, newest: newestConnection() }
      entries.set(entry.id, entry)
      timeline.begin(entry)
      for (const listener of listeners) listener('set', entry)
      return () => void end(entry.id)
    },
    list: () => [...entries.values()].map(({ newest, ...active }) => active),
    clear: id => [...entries.keys()].filter(key => (id === undefined || key === id) && end(key)).length,
    find<K extends FaultKind>(
      kind: K,
      target: FaultTarget,
      accepts: (fault: FaultOf<K>) => boolean = () => true,
    ) {
      for (const entry of entries.values()) {
        if (!isOfKind(entry, kind) || !actsOn(entry.fault, target) || !accepts(entry.fault)) continue
        if (kind === 'half-open' && (target.connection ?? 0) > entry.newest) continue
        return entry
      }
      return undefined
    },
    spend({ id }) {
      const entry = entries.get(id)
      if (!entry) return
      entry.altered += 1
      if (entry.fault.frames !== undefined && entry.altered >= entry.fault.frames) end(id)
    },
    nextEnd: () => Math.min(...[...entries.values()].map(endOf)),
    expire(at) {
      for (const entry of entries.values()) if (endOf(entry) <= at) end(entry.id)
    },
    onChange: listener => void listeners.push(listener),
  }
}

function endOf({ fault, setAt }: ActiveFault): EpochMs {
  return setAt + (fault.forMs ?? Number.POSITIVE_INFINITY)
}

function isOfKind<K extends FaultKind>(entry: Entry, kind: K): entry is Entry & ActiveFault<FaultOf<K>> {
  return entry.fault.kind === kind
}
