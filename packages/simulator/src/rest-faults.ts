import type { RestAnswer } from './rest-answer.ts'
import type { Exchange, Milliseconds } from './types.ts'
import type { World } from './world.ts'

const CANDLES = /^\/(v1\/candles|api\/v3\/klines)/

/** The text of `answer` as the REST faults leave it, and how late it is to be sent. */
export function faultyText(
  world: World,
  exchange: Exchange,
  path: string,
  answer: RestAnswer,
): { text: string; delayMs: Milliseconds } {
  const active = world.faults.find('rest', { exchange })
  const text = JSON.stringify(answer.body)
  if (!active || !path.startsWith(active.fault.path ?? '/')) return { text, delayMs: 0 }
  const { mode, ms = 1_000 } = active.fault
  // Shorter candle lists would be a different past, and the past is never altered.
  if ((mode === 'empty' || mode === 'half') && CANDLES.test(path)) return { text, delayMs: 0 }
  world.faults.spend(active)
  if (mode === 'slow') return { text, delayMs: ms }
  if (mode === 'truncated') return { text: text.slice(0, Math.floor(text.length / 2)), delayMs: 0 }
  const keep = (list: readonly unknown[]): readonly unknown[] =>
    mode === 'empty' ? [] : list.slice(0, Math.floor(list.length / 2))
  return { text: JSON.stringify(shortened(answer.body, keep)), delayMs: 0 }
}

/** `body` with its list shortened; exchangeInfo has its list in `symbols`. */
function shortened(body: unknown, keep: (list: readonly unknown[]) => readonly unknown[]): unknown {
  if (Array.isArray(body)) return keep(body)
  if (typeof body !== 'object' || body === null) return body
  const { symbols } = body as { symbols?: unknown }
  return Array.isArray(symbols) ? { ...body, symbols: keep(symbols) } : body
}
