import type { Exchange, SimulatorClock } from '../market/types.ts'
import type { ActiveFault, Fault, FaultKind } from './fault.ts'
import { createPauses, type Pauses } from './pauses.ts'

/** The faults as a test or a person sets them. */
export interface Faults {
  /** Sets a fault; the returned function takes it back and may be called more than once. */
  set(fault: Fault): () => void
  /** Everything that is set now, oldest first. */
  list(): readonly ActiveFault[]
  /** Takes back one fault by its id, or all. Returns how many were taken back. */
  clear(id?: number): number
}

/** The faults as the exchanges obey them. */
export interface FaultBoard extends Faults {
  /** The first fault of `kind` that acts on this exchange, market and connection. */
  find<K extends FaultKind>(
    kind: K,
    target: FaultTarget,
  ): ActiveFault<Extract<Fault, { kind: K }>> | undefined
  /** Counts one altered frame and ends the fault when it was the last. */
  spend(active: ActiveFault): void
  /** Ends what is over by the clock. */
  expire(): void
  /** Called for every fault that is set or ends. */
  onChange(listener: (change: 'set' | 'ended', active: ActiveFault) => void): void
  readonly pauses: Pauses
}

/** What a fault may act on. */
export interface FaultTarget {
  readonly exchange: Exchange
  /** Left out when a frame belongs to no single market; then faults of one market do not match. */
  readonly market?: string | undefined
  /** Number of the connection, counted from 1. */
  readonly connection?: number | undefined
}

type Entry = { -readonly [K in keyof ActiveFault]: ActiveFault[K] }

/** A board without faults. @param newestConnection its number, to know which connections exist already */
export function createFaultBoard(clock: SimulatorClock, newestConnection: () => number): FaultBoard {
  const entries = new Map<number, Entry & { readonly newest: number }>()
  const listeners: ((change: 'set' | 'ended', active: ActiveFault) => void)[] = []
  const pauses = createPauses(clock.now)
  let ids = 0

  const end = (id: number): boolean => {
    const entry = entries.get(id)
    if (!entry) return false
    entries.delete(id)
    pauses.end(entry)
    for (const listener of listeners) listener('ended', entry)
    return true
  }
  return {
    pauses,
    set(fault) {
      const entry = { id: ++ids, fault, setAt: clock.now(), altered: 0, newest: newestConnection() }
      entries.set(entry.id, entry)
      pauses.begin(entry)
      for (const listener of listeners) listener('set', entry)
      return () => void end(entry.id)
    },
    list: () => [...entries.values()].map(({ id, fault, setAt, altered }) => ({ id, fault, setAt, altered })),
    clear: id => [...entries.keys()].filter(key => (id === undefined || key === id) && end(key)).length,
    find<K extends FaultKind>(kind: K, target: FaultTarget) {
      for (const entry of entries.values()) {
        if (!isOfKind(entry, kind) || !matches(entry.fault, target)) continue
        if (kind === 'half-open' && (target.connection ?? 0) > entry.newest) continue
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
