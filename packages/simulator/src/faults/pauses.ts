import type { EpochMs, Exchange } from '../market/types.ts'
import type { ActiveFault, Fault } from './fault.ts'

/** A fault in which the exchange does not trade. */
export type PauseFault = Extract<Fault, { kind: 'halt' | 'outage' }>

/** All stretches of time without trades, past ones included: what did not trade never will have. */
export interface Pauses {
  /** The fault by which a market did not trade at an instant. */
  find<K extends PauseFault['kind']>(
    exchange: Exchange,
    market: string,
    at: EpochMs,
    kind?: K,
  ): Extract<PauseFault, { kind: K }> | undefined
  /** The start of the pause that holds the instant. */
  since(exchange: Exchange, market: string, at: EpochMs): EpochMs | undefined
}

interface Pause {
  readonly fault: PauseFault
  readonly from: EpochMs
  to: EpochMs
}

/** An empty list of pauses, and what tells it of faults that are set and taken back. */
export function createPauses(now: () => EpochMs): Pauses & {
  begin(active: ActiveFault): void
  end(active: ActiveFault): void
} {
  const byId = new Map<number, Pause>()
  const holding = (exchange: Exchange, market: string, at: EpochMs, kind?: string): Pause | undefined => {
    for (const pause of byId.values()) {
      const { fault, from, to } = pause
      if (at < from || at >= to || (kind !== undefined && fault.kind !== kind)) continue
      if (fault.exchange !== 'both' && fault.exchange !== exchange) continue
      if (fault.market === undefined || fault.market === market) return pause
    }
    return undefined
  }
  return {
    find: <K extends PauseFault['kind']>(exchange: Exchange, market: string, at: EpochMs, kind?: K) =>
      holding(exchange, market, at, kind)?.fault as Extract<PauseFault, { kind: K }> | undefined,
    since: (exchange, market, at) => holding(exchange, market, at)?.from,
    begin({ id, fault, setAt }) {
      if (!isPause(fault)) return
      const { from = setAt, to = Number.POSITIVE_INFINITY, forMs = Number.POSITIVE_INFINITY } = fault
      byId.set(id, { fault, from, to: Math.min(to, from + forMs) })
    },
    end({ id, fault }) {
      const pause = byId.get(id)
      if (!pause || !isPause(fault)) return
      // A pause that was put into the past by hand is taken out of it again.
      if (fault.from !== undefined) byId.delete(id)
      else pause.to = Math.min(pause.to, now())
    },
  }
}

function isPause(fault: Fault): fault is PauseFault {
  return fault.kind === 'halt' || fault.kind === 'outage'
}
