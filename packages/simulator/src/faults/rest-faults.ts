import type { Exchange, Milliseconds } from '../market/types.ts'
import type { RestResponse } from '../server/rest-response.ts'
import type { FaultBoard } from './board.ts'
import type { FaultOf } from './fault.ts'

const CANDLES = /^\/(v1\/candles|api\/v3\/klines)/

/** How late a response is to be sent. */
export function delayOf(faults: FaultBoard, exchange: Exchange, path: string): Milliseconds {
  const slow = faults.find('rest', { exchange }, fault => fault.mode === 'slow' && isOnPath(fault, path))
  if (!slow) return 0
  faults.spend(slow)
  return slow.fault.ms ?? 1_000
}

/** The text of a response as the faults leave it. */
export function faultyText(
  faults: FaultBoard,
  exchange: Exchange,
  path: string,
  { body }: RestResponse,
): string {
  const text = JSON.stringify(body)
  const active = faults.find('rest', { exchange }, fault => fault.mode !== 'slow' && isOnPath(fault, path))
  if (!active) return text
  const { mode } = active.fault
  // Shorter candle lists would be a different past, and only halts and outages change the past.
  if (mode !== 'truncated' && CANDLES.test(path)) return text
  faults.spend(active)
  if (mode === 'truncated') return text.slice(0, Math.floor(text.length / 2))
  const keep = (list: readonly unknown[]): readonly unknown[] =>
    mode === 'empty' ? [] : list.slice(0, Math.floor(list.length / 2))
  return JSON.stringify(shortened(body, keep))
}

function isOnPath({ path = '/' }: FaultOf<'rest'>, requested: string): boolean {
  return requested.startsWith(path)
}

/** `body` with its list shortened; exchangeInfo has its list in `symbols`. */
function shortened(body: unknown, keep: (list: readonly unknown[]) => readonly unknown[]): unknown {
  if (Array.isArray(body)) return keep(body)
  const { symbols } = body as { symbols?: unknown }
  return Array.isArray(symbols) ? { ...(body as object), symbols: keep(symbols) } : body
}
