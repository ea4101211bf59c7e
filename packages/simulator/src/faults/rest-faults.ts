import type { Exchange } from '../market/types.ts'
import type { RestResponse } from '../server/rest-response.ts'
import type { FaultBoard } from './board.ts'

const CANDLES = /^\/(v1\/candles|api\/v3\/klines)/

/** The text of a response as the faults leave it. */
export function faultyText(
  faults: FaultBoard,
  exchange: Exchange,
  requested: string,
  { body }: RestResponse,
): string {
  const text = JSON.stringify(body)
  const active = faults.find('rest', { exchange }, ({ path = '/' }) => requested.startsWith(path))
  if (!active) return text
  const { mode } = active.fault
  // Shorter candle lists would be a different past, and only halts and outages change the past.
  if (mode !== 'truncated' && CANDLES.test(requested)) return text
  faults.spend(active)
  if (mode === 'truncated') return text.slice(0, Math.floor(text.length / 2))
  const shortened = (list: readonly unknown[]): readonly unknown[] =>
    list.slice(0, mode === 'empty' ? 0 : Math.floor(list.length / 2))
  if (Array.isArray(body)) return JSON.stringify(shortened(body))
  // exchangeInfo has its list in `symbols`.
  const { symbols } = body as { symbols?: readonly unknown[] }
  return symbols ? JSON.stringify({ ...(body as object), symbols: shortened(symbols) }) : text
}
