import { fraction } from '../market/hash.ts'
import type { Exchange } from '../market/types.ts'
import type { FaultBoard } from './board.ts'

/** How a handshake or request is refused; 'hang' is never responding. */
export type Refusal = 'hang' | { readonly status: number; readonly headers: Readonly<Record<string, string>> }

/** Refuses what `refuse` faults want refused; a share of requests is the same on every run. */
export function createRefusals(faults: FaultBoard) {
  let asked = 0
  return (exchange: Exchange, on: 'ws' | 'rest', path: string, market?: string): Refusal | undefined => {
    const active = faults.find('refuse', { exchange, market }, fault => {
      if ((fault.on ?? 'both') !== 'both' && fault.on !== on) return false
      if (!path.startsWith(fault.path ?? '/')) return false
      return fraction(0x51ed270b, asked++) < (fault.share ?? 1)
    })
    if (!active) return undefined
    faults.spend(active)
    const { status, retryAfter } = active.fault
    if (status === 'hang') return status
    return { status, headers: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) } }
  }
}
