import { fraction } from '../market/hash.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { Exchange } from '../market/types.ts'
import type { RestResponse } from '../server/exchange-rest.ts'

/** How a handshake or request is refused; 'hang' is never responding. */
export type Refusal = 'hang' | { readonly status: number; readonly headers: Readonly<Record<string, string>> }

/** Refuses what a `refuse` fault wants refused; a share of requests is the same on every run. */
export function refusalOf(
  { faults, clock }: SimulatedExchanges,
  on: 'ws' | 'rest',
  exchange: Exchange,
  { host, pathname, search }: URL,
  market?: string,
): Refusal | undefined {
  const active = faults.find('refuse', { exchange, market, at: clock.now() }, met => {
    const { on: sides = 'both', path = '/', host: at = host, share = 1 } = met.fault
    if ((sides !== 'both' && sides !== on) || at !== host || !(pathname + search).startsWith(path))
      return false
    return fraction(0x51ed270b, met.met++) < share
  })
  if (!active) return undefined
  const { status, retryAfter } = active.fault
  if (status === 'hang') return status
  return { status, headers: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) } }
}

/** The text of a response, as `rest` faults want it. */
export function textOf(
  { faults, clock }: SimulatedExchanges,
  exchange: Exchange,
  { pathname, search }: URL,
  caller: string,
  { body }: RestResponse,
): string {
  const requested = pathname + search
  // exchangeInfo has its list in `symbols`.
  const { symbols } = body as { symbols?: readonly unknown[] }
  let rows = Array.isArray(body) ? body : symbols
  let isCut = false
  for (const { fault } of faults.all('rest', { exchange, at: clock.now() })) {
    const { path = '/', alter } = fault
    if (!requested.startsWith(path)) continue
    if (alter === 'cut') isCut = true
    else rows &&= alter(rows, requested, caller)
  }
  const text = JSON.stringify(symbols ? { ...(body as object), symbols: rows } : (rows ?? body))
  return isCut ? text.slice(0, text.length / 2) : text
}
