import type { EpochMs, Exchange, Market, Milliseconds, Tick } from '@kimchi/core'
import { isFields, SHOWN, shown } from './parse-frame.ts'

/** How many bytes of an unreadable frame are searched for its market; no documented frame is longer. */
const SEARCHED = 4_096

/**
 * All that the feed needs to know of an exchange: plain values and pure functions, no sockets. A test changes a
 * limit with `{ ...binanceProtocol, maxAgeMs: 2_000 }`.
 * @see docs/exchanges.md
 */
export interface Protocol {
  readonly exchange: Exchange
  /** The WebSocket address at one of the bases. */
  urlOf(base: string): string
  /**
   * The messages that subscribe to these markets.
   * @param id a number that no other message of the connection has
   */
  subscribe(markets: readonly Market[], id: number): readonly string[]
  /** Creates a decoder for one connection to these markets; it may remember that connection's frames. */
  createDecoder(markets: readonly Market[]): Decoder
  /** A connection without data for this long is stalled. Snapshots, pongs, acks and heartbeats are no data. */
  readonly stallAfterMs: Milliseconds
  /** A connection older than this is replaced by a new one, which is opened first; undefined for never. */
  readonly maxAgeMs: Milliseconds | undefined
  /** How often we ping; undefined when the exchange pings us instead. Nobody waits for the pong: data counts. */
  readonly pingEveryMs: Milliseconds | undefined
}

/** Turns the frames of one connection into ticks. Never throws, whatever the frame holds. */
export type Decoder = (frame: Buffer, receivedAt: EpochMs) => Decoded

/** What one frame was. */
export type Decoded =
  | { readonly kind: 'tick'; readonly tick: Tick }
  /** The exchange has done what a message of ours asked for. */
  | { readonly kind: 'ack' }
  /** Well formed, but a heartbeat, of another channel, of a market that is not subscribed or has never traded. */
  | { readonly kind: 'ignored' }
  /** The exchange is about to close this connection. */
  | { readonly kind: 'shutdown' }
  /** An error that the exchange reports: it refuses our subscription. */
  | { readonly kind: 'error'; readonly message: string }
  /** Not as the exchange documents it. `reason` names field and value, `market` whose price is unknown now. */
  | { readonly kind: 'malformed'; readonly reason: string; readonly market: Market | undefined }

export const IGNORED: Decoded = { kind: 'ignored' }

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
