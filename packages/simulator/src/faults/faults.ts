import type { EpochMs, Exchange, Milliseconds, SimulatorClock } from '../market/types.ts'
import type { Fault, FaultKind, FaultOf } from './fault-kinds.ts'

/** A fault that was set. It acts in [from, to). */
export interface ActiveFault<F extends Fault = Fault> {
  readonly fault: F
  readonly from: EpochMs
  to: EpochMs
  /** Requests of which it has refused its share so far. */
  met: number
}

/** What a fault is looked up for: a frame or a request, at an instant. */
export interface FaultTarget {
  readonly exchange: Exchange
  /** Left out when a frame or request belongs to no single market; then faults of one market do not match. */
  readonly market?: string | undefined
  readonly at: EpochMs
}

/** Kinds that act on what happened at a time, not on frames: when such a fault is over it stays in the past. */
const TIMED: readonly FaultKind[] = ['halt', 'outage', 'lag']
const isTimed = (fault: Fault) => TIMED.includes(fault.kind) || (fault.kind === 'price' && fault.isTrue)

/** What ended longer ago is forgotten: nobody asks for trades so old, not even an import of a day some days ago. */
const REMEMBERED_MS: Milliseconds = 7 * 86_400_000

/** The faults that are set, and the pauses, lags and moves of prices that were. */
export class Faults {
  readonly #clock: SimulatorClock
  readonly #settle: () => void
  #known: readonly ActiveFault[] = []
  /** Those of the known ones that a market and its kinds were looked up for. */
  readonly #found = new Map<string, readonly ActiveFault[]>()

  /** @param settle sends what is due, before somebody sets or ends a fault and after it */
  constructor(clock: SimulatorClock, settle: () => void) {
    this.#clock = clock
    this.#settle = settle
  }

  /** Sets a fault; the returned function ends it and may be called more than once. */
  set(fault: Fault): () => void {
    this.#settle()
    const now = this.#clock.now()
    const { forMs = Number.POSITIVE_INFINITY } = fault
    const { from = now, to = Number.POSITIVE_INFINITY } = fault as { from?: EpochMs; to?: EpochMs }
    const active = { fault, from, to: Math.min(to, from + forMs), met: 0 }
    const isRemembered = (each: ActiveFault) =>
      this.#isSet(each) || (isTimed(each.fault) && each.to > now - REMEMBERED_MS)
    this.#known = [...this.#known.filter(isRemembered), active]
    this.#found.clear()
    this.#settle()
    if (fault.kind === 'shutdown' || (fault.kind === 'drop' && fault.forMs === undefined)) end(active)
    return () => this.#clear(each => each === active)
  }

  /** Ends all. */
  clear(): void {
    this.#clear(() => true)
  }

  #clear(isMeant: (active: ActiveFault) => boolean): void {
    this.#settle()
    for (const active of this.list().filter(isMeant)) {
      // A fault whose span was given leaves the past as well.
      if ('from' in active.fault) end(active)
      else active.to = this.#clock.now()
    }
    this.#settle()
  }

  /** Everything that is set now, oldest first. */
  list(): readonly ActiveFault[] {
    return this.#known.filter(active => this.#isSet(active))
  }

  /** All of `kind` that act on the target, oldest first. */
  all<K extends FaultKind>(kind: K, { exchange, market, at }: FaultTarget) {
    return this.#of(exchange, market, kind).filter(active => acts(active, at))
  }

  /** The newest fault of `kind` that acts on the target, and that `accepts` lets pass. */
  find<K extends FaultKind>(
    kind: K,
    target: FaultTarget,
    accepts: (active: ActiveFault<FaultOf<K>>) => boolean = () => true,
  ): ActiveFault<FaultOf<K>> | undefined {
    return this.all(kind, target).findLast(accepts)
  }

  /** A frame, with the fields that faults of it have altered. */
  alter(frame: object, target: FaultTarget): object {
    const altered: Record<string, unknown> = { ...frame }
    for (const { fault } of this.all('fields', target)) Object.assign(altered, fault.alter(altered))
    return altered
  }

  /** What frames say of a price. */
  priceIn(price: number, target: FaultTarget): number {
    const active = this.find('price', target, ({ fault }) => !fault.isTrue)
    return active ? price * factorAt(active, target.at) : price
  }

  /** What multiplies the prices of a market's trades, at any time. */
  movesOf(exchange: Exchange, market: string): (at: EpochMs) => number {
    const moves = this.#of(exchange, market, 'price').filter(({ fault }) => fault.isTrue)
    return at => moves.reduce((product, move) => (acts(move, at) ? product * factorAt(move, at) : product), 1)
  }

  /** The halts and outages of a market, past and future ones too. */
  pausesOf(exchange: Exchange, market: string): readonly ActiveFault<FaultOf<'halt' | 'outage'>>[] {
    return this.#of(exchange, market, 'halt', 'outage')
  }

  /** The longest lag of trades that can still be on their way at an instant. */
  longestLag(at: EpochMs): Milliseconds {
    const lags = this.#of('upbit', undefined, 'lag').map(({ fault, to }) =>
      to + fault.maxMs > at ? fault.maxMs : 0,
    )
    return Math.max(0, ...lags)
  }

  #of<K extends FaultKind>(exchange: Exchange, market: string | undefined, ...kinds: readonly K[]) {
    const key = [exchange, market, ...kinds].join()
    const isMeant = ({ fault }: ActiveFault) => {
      const only = 'market' in fault ? fault.market : undefined
      if (fault.exchange !== exchange || (only !== undefined && only !== market)) return false
      return kinds.some(kind => kind === fault.kind)
    }
    const found = this.#found.get(key) ?? this.#known.filter(isMeant)
    this.#found.set(key, found)
    return found as readonly ActiveFault<FaultOf<K>>[]
  }

  /** Whether a fault still acts, or has a given span, which may lie in the past. */
  #isSet({ fault, from, to }: ActiveFault): boolean {
    return to > this.#clock.now() || ('from' in fault && to > from)
  }
}

export function acts({ from, to }: ActiveFault, at: EpochMs): boolean {
  return from <= at && at < to
}

function factorAt({ fault: { factor } }: ActiveFault<FaultOf<'price'>>, at: EpochMs): number {
  return typeof factor === 'number' ? factor : factor(at)
}

/** Ends a fault at once, for frames too that were due before and are sent only now. */
function end(active: ActiveFault): void {
  active.to = active.from
}
