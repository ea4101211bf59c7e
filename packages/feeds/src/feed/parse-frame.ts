import { isUtf8 } from 'node:buffer'
import type { EpochMs } from '@kimchi/core'

/** A parsed object whose fields are unchecked. */
export type Fields = Readonly<Record<string, unknown>>

/** 2009-02-13 and 2128-06-11. A time in seconds or microseconds is far outside. */
const EARLIEST_AT: EpochMs = 1_234_567_890_000
const LATEST_AT: EpochMs = 5_000_000_000_000

/** How many characters of a refused value an error message shows. */
export const SHOWN = 80

/** The JSON object in a frame, or undefined when its bytes are not UTF-8 or its text is none. */
export function fieldsOf(frame: Buffer): Fields | undefined {
  const value = isUtf8(frame) ? jsonOf(frame.toString()) : undefined
  return isFields(value) ? value : undefined
}

/** The value of a text in JSON, undefined for any other text. No JSON has that value. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
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
  return Number.isInteger(value) && (value as number) > EARLIEST_AT && (value as number) < LATEST_AT
}

/** A value from a frame as a short text. Objects are not printed: they may be nested deeper than the stack. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, SHOWN))
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
