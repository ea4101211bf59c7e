import { fraction } from '../market/hash.ts'
import type { Exchange } from '../market/types.ts'
import type { FaultBoard } from './board.ts'

/** How a handshake or request is refused; 'hang' is never responding. */
export type Refusal = 'hang' | { readonly status: number; readonly headers: Readonly<Record<string, string>> }

/** Decides about one handshake or request. @param market the one market it names, if it names one */
export type RefusalOf = (
  exchange: Exchange,
  on: 'ws' | 'rest',
  path: string,
  market?: string,
) => Refusal | undefined

const DICE = 0x51ed270b

/** Refuses what `refuse` faults want refused; a share of requests is the same on every run. */
export function createRefusals(faults: FaultBoard): RefusalOf {
  let asked = 0
  return (exchange, on, path, market) => {
    const active = faults.find('refuse', { exchange, market }, fault => {
      if ((fault.on ?? 'both') !== 'both' && fault.on !== on) return false
      if (!path.startsWith(fault.path ?? '/')) return false
      return fraction(DICE, asked++) < (fault.share ?? 1)
    })
    if (!active) return undefined
    faults.spend(active)
    const { status, retryAfter } = active.fault
    if (status === 'hang') return status
    const headers: Record<string, string> = {}
    if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter)
    if (status < 400) headers.location = 'https://example.invalid/'
    return { status, headers }
  }
}
