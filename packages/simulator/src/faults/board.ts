import type { EpochMs, Milliseconds, SimulatorClock } from '../market/types.ts'
import {
  type ActiveFault,
  actsOn,
  type Fault,
  type FaultKind,
  type FaultOf,
  type FaultTarget,
} from './fault.ts'

type FaultListener = (change: 'set' | 'ended', active: ActiveFault) => void
type Found<K extends FaultKind> = ActiveFault<FaultOf<K>> | undefined

/** The kinds of faults during which a market does not trade. */
export const PAUSES = ['halt', 'outage'] as const
/** Kinds that act on what happened at a time, not on frames: when they are over they stay in the past. */
const TIMED: readonly FaultKind[] = [...PAUSES, 'lag']

/** The faults that are set, and the pauses and lags that were. */
export class FaultBoard {
  readonly #clock: SimulatorClock
  readonly #settle: () => void
  readonly #set = new Map<number, ActiveFault>()
  readonly #timed = new Set<ActiveFault>()
  readonly #listeners: FaultListener[] = []
  #ids = 0

  /** @param settle sends what is due before somebody sets or ends a fault */
  constructor(clock: SimulatorClock, settle: () => void) {
    this.#clock = clock
    this.#settle = settle
  }

  /** Sets a fault; the returned function ends it and may be called more than once. */
  set(fault: Fault): () => void {
    const { id } = this.add(fault)
    return () => void this.clear(id)
  }

  /** Sets a fault. */
  add(fault: Fault): ActiveFault {
    this.#settle()
    const setAt = this.#clock.now()
    const { forMs = Number.POSITIVE_INFINITY } = fault
    const { from = setAt, to = Number.POSITIVE_INFINITY } = fault as { from?: EpochMs; to?: EpochMs }
    const active = { id: ++this.#ids, fault, setAt, from, to: Math.min(to, from + forMs), altered: 0 }
    this.#set.set(active.id, active)
    if (TIMED.includes(fault.kind)) this.#timed.add(active)
    this.#tell('set', active)
    if (fault.kind === 'shutdown' || (fault.kind === 'drop' && fault.forMs === undefined)) this.#end(active)
    return active
  }

  /** Ends one fault by its id, or all. Returns how many it ended. */
  clear(id?: number): number {
    this.#settle()
    const ending = this.list().filter(active => id === undefined || active.id === id)
    for (const active of ending) this.#end(active)
    return ending.length
  }

  /** Everything that is set now, oldest first. */
  list(): readonly ActiveFault[] {
    return [...this.#set.values()]
  }

  /** The first fault of `kind` that acts on the target now, and that `accepts` lets pass. */
  find<K extends FaultKind>(
    kind: K,
    target: FaultTarget,
    accepts: (fault: FaultOf<K>) => boolean = () => true,
  ): Found<K> {
    return this.list().find(
      (active): active is ActiveFault<FaultOf<K>> =>
        isOneOf(active, [kind]) && actsOn(active.fault, target) && accepts(active.fault),
    )
  }

  /** The pause or lag, of one of the kinds, that acted on a market at an instant. */
  findAt<K extends 'halt' | 'outage' | 'lag'>(
    kinds: readonly K[],
    target: FaultTarget,
    at: EpochMs,
  ): Found<K> {
    for (const active of this.#timed) {
      if (at < active.from || at >= active.to) continue
      if (isOneOf(active, kinds) && actsOn(active.fault, target)) return active
    }
    return undefined
  }

  /** The longest lag of trades that can still be on their way at an instant. */
  longestLag(at: EpochMs): Milliseconds {
    const lags = [...this.#timed].map(({ fault, to }) =>
      fault.kind === 'lag' && to + fault.maxMs > at ? fault.maxMs : 0,
    )
    return Math.max(0, ...lags)
  }

  /** Counts one altered frame or response, and ends the fault when it was the last. */
  spend(active: ActiveFault): void {
    active.altered += 1
    if (active.fault.frames !== undefined && active.altered >= active.fault.frames) this.#end(active)
  }

  /** When the next fault ends by its `forMs`; Infinity when none does. */
  nextEnd(): EpochMs {
    return Math.min(...this.list().map(endOf))
  }

  /** Ends what is over at an instant. */
  expire(at: EpochMs): void {
    for (const active of this.list()) if (endOf(active) <= at) this.#end(active)
  }

  onChange(listener: FaultListener): void {
    this.#listeners.push(listener)
  }

  #end(active: ActiveFault): void {
    if (!this.#set.delete(active.id)) return
    active.to = Math.min(active.to, this.#clock.now())
    // A fault that was set for the past by hand leaves no trace there.
    if ('from' in active.fault) this.#timed.delete(active)
    this.#tell('ended', active)
  }

  #tell(change: 'set' | 'ended', active: ActiveFault): void {
    for (const listener of this.#listeners) listener(change, active)
  }
}

function endOf({ fault, setAt }: ActiveFault): EpochMs {
  return setAt + (fault.forMs ?? Number.POSITIVE_INFINITY)
}

function isOneOf<K extends FaultKind>(
  active: ActiveFault,
  kinds: readonly K[],
): active is ActiveFault<FaultOf<K>> {
  return kinds.some(kind => kind === active.fault.kind)
}
