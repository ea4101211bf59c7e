import type { Market } from '../market/types.ts'
import type { FaultBoard } from './board.ts'

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
