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
  const active = faults.use('refuse', { exchange, market, at: clock.now() }, met => {
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

/** The text of a response, mangled as a `rest` fault wants it. */
export function mangledBody(
  { faults, clock }: SimulatedExchanges,
  exchange: Exchange,
  requested: string,
  { body }: RestResponse,
): string {
  const text = JSON.stringify(body)
  const target = { exchange, at: clock.now() }
  const active = faults.use('rest', target, ({ fault: { path = '/' } }) => requested.startsWith(path))
  if (!active) return text
  const { mode, without } = active.fault
  if (mode === 'truncated') return text.slice(0, Math.floor(text.length / 2))
  const isKept = (entry: unknown): boolean => !Object.values(entry as object).some(value => value === without)
  const shortened = (list: readonly unknown[]): readonly unknown[] =>
    mode === 'omit' ? list.filter(isKept) : list.slice(0, mode === 'empty' ? 0 : Math.floor(list.length / 2))
  if (Array.isArray(body)) return JSON.stringify(shortened(body))
  // exchangeInfo has its list in `symbols`.
  const { symbols } = body as { symbols?: readonly unknown[] }
  return symbols ? JSON.stringify({ ...(body as object), symbols: shortened(symbols) }) : text
}
