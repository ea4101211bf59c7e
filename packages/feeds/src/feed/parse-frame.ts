import { isUtf8 } from 'node:buffer'
import type { EpochMs, Market } from '@kimchi/core'
import type { Decoded } from './protocol.ts'

/** A parsed object whose fields are unchecked. */
export type Fields = Readonly<Record<string, unknown>>

/** 2009-02-13 and 2128-06-11. A time in seconds or microseconds is far outside. */
const EARLIEST_AT: EpochMs = 1_234_567_890_000
const LATEST_AT: EpochMs = 5_000_000_000_000

/** How many characters of a refused value an error message shows. */
const SHOWN = 80

/** How many bytes of an unreadable frame are searched for its market; no documented frame is longer. */
const SEARCHED = 4_096

/** The JSON object in a frame, or undefined when its bytes are not UTF-8 or its text is none. */
export function fieldsOf(frame: Buffer): Fields | undefined {
  try {
    const value: unknown = isUtf8(frame) ? JSON.parse(frame.toString()) : undefined
    return isFields(value) ? value : undefined
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

/** The outcome for a frame that is not as documented: names the field and shows the value, shortened. */
export function malformed(field: string, value: unknown, market?: Market): Decoded {
  const named = market === undefined ? field : `${market} ${field}`
  return { kind: 'malformed', reason: `${named} is not plausible, got: ${shown(value)}`, market }
}

/**
 * The outcome for an error that the exchange reports.
 * @param name the field of its name
 * @param text the field of what it says
 */
export function complaint(error: unknown, name: string, text: string): Decoded {
  const fields = isFields(error) ? error : { [name]: 'error', [text]: error }
  return { kind: 'error', message: `${shown(fields[name])}: ${shown(fields[text])}` }
}

/** A value from a frame as a short text. Objects are not printed: they may be nested deeper than the stack. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, SHOWN))
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/**
 * The outcome for a frame that is not a JSON object in UTF-8.
 * @param code finds what may be the market's code in it
 */
export function unreadable(frame: Buffer, code: RegExp, wanted: { has(market: Market): boolean }): Decoded {
  const start = frame.toString('latin1', 0, SHOWN)
  const reason = `frame of ${frame.length} is not a JSON object in UTF-8: ${JSON.stringify(start)}`
  const named = frame.toString('utf8', 0, SEARCHED).matchAll(code)
  const markets = Array.from(named, ([, market = '']) => market.toUpperCase())
  return { kind: 'malformed', reason, market: markets.find(market => wanted.has(market)) }
}
