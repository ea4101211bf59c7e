import { isUtf8 } from 'node:buffer'
import type { EpochMs } from '@kimchi/core'
import type { Decoded } from './protocol.ts'

/** A parsed object whose fields are unchecked. */
export type Fields = Readonly<Record<string, unknown>>

/** 2009-02-13 and 2128-06-11. A time in seconds or microseconds is far outside. */
const EARLIEST_MS = 1_234_567_890_000
const LATEST_MS = 5_000_000_000_000

/** How many characters of a refused value an error message shows. */
const SHOWN = 80

/** The JSON value of a frame, or undefined when its bytes are not UTF-8 or its text is not JSON. */
export function parseFrame(frame: Buffer): unknown {
  try {
    return isUtf8(frame) ? JSON.parse(frame.toString()) : undefined
  } catch {
    return undefined
  }
}

/** Whether a parsed value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is an exchange time: a whole number of milliseconds in a plausible century. */
export function isExchangeTime(value: unknown): value is EpochMs {
  return Number.isInteger(value) && (value as number) > EARLIEST_MS && (value as number) < LATEST_MS
}

/** The outcome for a frame that is not as documented: names the field and shows the value, shortened. */
export function malformed(field: string, value: unknown): Decoded {
  return { kind: 'malformed', reason: `${field} is not plausible, got: ${shown(value)}` }
}

/** A value from a frame as a short text. Objects are not printed: they may be nested deeper than the stack. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, SHOWN))
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/** The outcome for a frame that is not a JSON object in UTF-8. */
export function unreadable(frame: Buffer): Decoded {
  const start = frame.toString('latin1', 0, SHOWN)
  const reason = `frame of ${frame.length} is not a JSON object in UTF-8: ${JSON.stringify(start)}`
  return { kind: 'malformed', reason }
}
