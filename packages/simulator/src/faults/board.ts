import type { EpochMs, SimulatorClock } from '../market/types.ts'
import type { ActiveFault, Fault, FaultKind, FaultOf, FaultTarget } from './fault.ts'
import { actsOn } from './fault.ts'
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

type Test<K extends FaultKind> = (fault: FaultOf<K>) => boolean
type Found<K extends FaultKind> = ActiveFault<FaultOf<K>> | undefined

/** The faults as the exchanges obey them. */
export interface FaultBoard extends Faults {
  /** The first fault of `kind` that acts on the target, and that `accepts` lets pass. */
  find<K extends FaultKind>(kind: K, target: FaultTarget, accepts?: Test<K>): Found<K>
  /** Counts one altered frame or response, and ends the fault when it was the last. */
  spend(active: ActiveFault): void
  /** When the next fault ends by its `forMs`; Infinity when none does. */
  nextEnd(): EpochMs
  /** Ends what is over at an instant. */
  expire(at: EpochMs): void
  onChange(listener: FaultListener): void
  readonly timeline: Timeline
}

/** A board without faults. @param settle sends what is due before somebody sets or takes back a fault */
export function createFaultBoard(clock: SimulatorClock, settle: () => void): FaultBoard {
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
  const clear = (id?: number): number => {
    settle()
    return [...entries.keys()].filter(key => (id === undefined || key === id) && end(key)).length
  }
  return {
    timeline,
    clear,
    set(fault) {
      settle()
      const entry: ActiveFault = { id: ++ids, fault, setAt: clock.now(), altered: 0 }
      entries.set(entry.id, entry)
      timeline.begin(entry)
      for (const listener of listeners) listener('set', entry)
      if (isMoment(fault)) end(entry.id)
      return () => void clear(entry.id)
    },
    list: () => [...entries.values()],
    find<K extends FaultKind>(kind: K, target: FaultTarget, accepts: Test<K> = () => true): Found<K> {
      for (const entry of entries.values()) {
        if (isOfKind(entry, kind) && actsOn(entry.fault, target) && accepts(entry.fault)) return entry
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
