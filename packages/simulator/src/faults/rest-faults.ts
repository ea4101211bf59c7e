import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { Exchange, Milliseconds } from '../market/types.ts'
import type { RestResponse } from '../server/rest-response.ts'

const CANDLES = /^\/(v1\/candles|api\/v3\/klines)/

/** The text of a response as the REST faults leave it, and how late it is to be sent. */
export function faultyText(
  { faults }: SimulatedExchanges,
  exchange: Exchange,
  path: string,
  { body }: RestResponse,
): { text: string; delayMs: Milliseconds } {
  const active = faults.find('rest', { exchange })
  const text = JSON.stringify(body)
  if (!active || !path.startsWith(active.fault.path ?? '/')) return { text, delayMs: 0 }
  const { mode, ms = 1_000 } = active.fault
  // Shorter candle lists would be a different past, and only halts and outages change the past.
  if ((mode === 'empty' || mode === 'half') && CANDLES.test(path)) return { text, delayMs: 0 }
  faults.spend(active)
  if (mode === 'slow') return { text, delayMs: ms }
  if (mode === 'truncated') return { text: text.slice(0, Math.floor(text.length / 2)), delayMs: 0 }
  const keep = (list: readonly unknown[]): readonly unknown[] =>
    mode === 'empty' ? [] : list.slice(0, Math.floor(list.length / 2))
  return { text: JSON.stringify(shortened(body, keep)), delayMs: 0 }
}

/** `body` with its list shortened; exchangeInfo has its list in `symbols`. */
function shortened(body: unknown, keep: (list: readonly unknown[]) => readonly unknown[]): unknown {
  if (Array.isArray(body)) return keep(body)
  if (typeof body !== 'object' || body === null) return body
  const { symbols } = body as { symbols?: unknown }
  return Array.isArray(symbols) ? { ...body, symbols: keep(symbols) } : body
}
