import { HOUR_MS, type Market } from '@kimchi/core'
import type { Protocol } from '../feed/protocol.ts'
import { createBinanceDecoder } from './decoder.ts'

/** A subscribe message names at most this many streams; clients in the field split above 350. */
const STREAMS_PER_MESSAGE = 300

/**
 * Binance spot's combined miniTicker streams: one connection, subscribed by message.
 * @see docs/exchanges.md#binance-websocket
 */
export const binanceProtocol: Protocol = {
  exchange: 'binance',
  urlOf: base => `${base}/stream`,
  subscribe: changes,
  createDecoder: createBinanceDecoder,
  stallAfterMs: 15_000,
  // Binance cuts at 24 h, sometimes sooner; four hours leave room for many attempts at a new connection.
  maxAgeMs: 20 * HOUR_MS,
  pingEveryMs: undefined,
  // The limit is 5 messages a second.
  sendSpacingMs: 1_000,
}

function changes(previous: readonly Market[], next: readonly Market[], id: number): string[] {
  const before = new Set(previous)
  const after = new Set(next)
  const gone = previous.filter(market => !after.has(market))
  const added = next.filter(market => !before.has(market))
  return [...requests('UNSUBSCRIBE', gone, id), ...requests('SUBSCRIBE', added, id + gone.length)]
}

function requests(
  method: 'SUBSCRIBE' | 'UNSUBSCRIBE',
  markets: readonly Market[],
  firstId: number,
): string[] {
  const streams = markets.map(market => `${market.toLowerCase()}@miniTicker`)
  const messages: string[] = []
  for (let at = 0; at < streams.length; at += STREAMS_PER_MESSAGE) {
    const params = streams.slice(at, at + STREAMS_PER_MESSAGE)
    messages.push(JSON.stringify({ method, params, id: firstId + at }))
  }
  return messages
}
