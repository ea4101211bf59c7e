import { parseJson } from '../server/parse-json.ts'

/** How the frames of a connection are written. */
export type UpbitFormat = 'DEFAULT' | 'SIMPLE'

/** What a connection listens to; a new subscription replaces the one before. */
export interface UpbitSubscription {
  readonly codes: ReadonlySet<string>
  readonly format: UpbitFormat
}

/** Reads a ticket, type objects of tickers, and perhaps a format; undefined for whatever else Upbit takes. */
export function readSubscription(text: string): UpbitSubscription | undefined {
  const message = parseJson(text)
  if (!Array.isArray(message)) return undefined
  const parts: Readonly<Record<string, unknown>>[] = message.filter(part => part instanceof Object)
  const format = parts.find(part => part.format !== undefined)?.format ?? 'DEFAULT'
  const types = parts.filter(part => part.type !== undefined)
  const isKnown =
    types.length > 0 && types.every(({ type, codes }) => type === 'ticker' && Array.isArray(codes))
  if (!isKnown || !parts.some(part => part.ticket) || (format !== 'DEFAULT' && format !== 'SIMPLE')) {
    return undefined
  }
  return { codes: new Set(types.flatMap(({ codes }) => (codes as unknown[]).map(String))), format }
}
