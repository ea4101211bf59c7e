import { fraction } from '../market/hash.ts'
import type { Exchange, Market } from '../market/types.ts'
import type { RestResponse } from '../server/wire.ts'
import type { FaultBoard } from './board.ts'
import type { GarbageShape } from './fault.ts'

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

/** `payload` with its price in the field `key` multiplied, when a fault asks for that. */
export function withFaultyPrice<T extends object>(
  faults: FaultBoard,
  { exchange, code }: Market,
  payload: T,
  key: keyof T,
): T {
  const active = faults.find('price', { exchange, market: code })
  if (!active) return payload
  faults.spend(active)
  const price = Number(payload[key]) * active.fault.factor
  return { ...payload, [key]: typeof payload[key] === 'string' ? price.toFixed(8) : price }
}

/** Makes bytes that are no frame from the text of one. */
export const GARBAGE: Readonly<Record<GarbageShape, (text: string) => Buffer>> = {
  truncated: text => Buffer.from(text.slice(0, Math.ceil(text.length / 2))),
  utf8: text => Buffer.from(`${text.slice(0, 12)}\xc3\x28\xff\xfe${text.slice(12)}`, 'latin1'),
  nested: () => Buffer.from(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  noise: text => Buffer.from(Array.from({ length: 256 }, (_, i) => (i * 197 + text.length * 31) & 0xff)),
}

const CANDLES = /^\/(v1\/candles|api\/v3\/klines)/

/** The text of a response, mangled as `rest` faults want it. */
export function mangledBody(
  faults: FaultBoard,
  exchange: Exchange,
  requested: string,
  { body }: RestResponse,
): string {
  const text = JSON.stringify(body)
  const active = faults.find('rest', { exchange }, ({ path = '/' }) => requested.startsWith(path))
  if (!active) return text
  const { mode, without } = active.fault
  // Shorter candle lists would be a different past, and only halts and outages change the past.
  if (mode !== 'truncated' && CANDLES.test(requested)) return text
  faults.spend(active)
  if (mode === 'truncated') return text.slice(0, Math.floor(text.length / 2))
  const isKept = (entry: unknown): boolean => !Object.values(entry as object).some(value => value === without)
  const shortened = (list: readonly unknown[]): readonly unknown[] =>
    mode === 'omit' ? list.filter(isKept) : list.slice(0, mode === 'empty' ? 0 : Math.floor(list.length / 2))
  if (Array.isArray(body)) return JSON.stringify(shortened(body))
  // exchangeInfo has its list in `symbols`.
  const { symbols } = body as { symbols?: readonly unknown[] }
  return symbols ? JSON.stringify({ ...(body as object), symbols: shortened(symbols) }) : text
}
