import { type EpochMs, HOUR_MS, isPrice, type Market } from '@kimchi/core'
import { type Fields, fieldsOf, isExchangeTime, isFields } from './feed/parse-frame.ts'
import type { Decoded, Decoder, Protocol } from './feed/protocol.ts'
import { complaint, IGNORED, malformed, unreadable } from './feed/protocol.ts'

/** A subscribe message names at most this many streams; clients in the field split above 350. */
const STREAMS_PER_MESSAGE = 300

/**
 * Binance spot's combined miniTicker streams: one connection, subscribed by message. A frame, of more fields:
 * ```json
 * { "stream": "btcusdt@miniTicker", "data": { "e": "24hrMiniTicker", "E": 1795222584015, "s": "BTCUSDT",
 *   "c": "76722.22000000", "v": "12345.67890000" } }
 * ```
 * @see https://developers.binance.com/docs/binance-spot-api-docs/web-socket-streams, docs/exchanges.md#binance-websocket
 */
export const binanceProtocol: Protocol = {
  exchange: 'binance',
  urlOf: base => `${base}/stream`,
  subscribe,
  createDecoder: createBinanceDecoder,
  stallAfterMs: 15_000,
  // Binance cuts at 24 h, sometimes sooner; four hours leave room for many attempts at a new connection.
  maxAgeMs: 20 * HOUR_MS,
  pingEveryMs: undefined,
}

function subscribe(markets: readonly Market[], id: number): string[] {
  const streams = markets.map(market => `${market.toLowerCase()}@miniTicker`)
  const messages: string[] = []
  for (let at = 0; at < streams.length; at += STREAMS_PER_MESSAGE) {
    const params = streams.slice(at, at + STREAMS_PER_MESSAGE)
    messages.push(JSON.stringify({ method: 'SUBSCRIBE', params, id: id + at }))
  }
  return messages
}

/** Each market's previous frame; NaN before the first, which compares as neither changed nor risen. */
type Previous = ReadonlyMap<Market, { price: number; volume: number }>

/** Finds the market in a frame that is no JSON: it stands there twice, and one may be broken. */
const CODE = /"(?:stream|s)"\s*:\s*"([^"@]+)/g

/**
 * A decoder of Binance miniTicker frames of a combined stream. It remembers each market's last frame, since only a
 * changed price or a risen volume proves a trade: Binance also sends a frame when old trades leave the 24 hours.
 */
export function createBinanceDecoder(markets: readonly Market[]): Decoder {
  const previous: Previous = new Map(
    markets.map(market => [market, { price: Number.NaN, volume: Number.NaN }]),
  )
  return (frame, receivedAt) => {
    const fields = fieldsOf(frame)
    const payload = fields?.data === undefined ? fields : fields.data
    if (!isFields(payload)) return unreadable(frame, CODE, previous)
    return decodeFields(payload, previous, receivedAt)
  }
}

function decodeFields(fields: Fields, previous: Previous, receivedAt: EpochMs): Decoded {
  if (fields.e === '24hrMiniTicker') return toTick(fields, previous, receivedAt)
  if (fields.e === 'serverShutdown') return { kind: 'shutdown' }
  if (fields.error !== undefined) return complaint(fields.error, 'code', 'msg')
  if (fields.code !== undefined && fields.msg !== undefined) return complaint(fields, 'code', 'msg')
  return fields.result !== undefined && fields.id !== undefined ? { kind: 'ack' } : IGNORED
}

function toTick(fields: Fields, previous: Previous, receivedAt: EpochMs): Decoded {
  const { s: market, c: text, v, E: eventAt } = fields
  if (typeof market !== 'string') return malformed('s', market)
  const before = previous.get(market)
  if (before === undefined) return IGNORED
  const price = priceOf(text)
  if (price === undefined) return malformed('c', text, market)
  if (!isExchangeTime(eventAt)) return malformed('E', eventAt, market)
  const volume = typeof v === 'string' ? Number(v) : Number.NaN
  const isTrade = volume > before.volume || Math.abs(price - before.price) > 0
  before.price = price
  before.volume = volume
  const tick = {
    exchange: 'binance',
    market,
    price,
    eventAt,
    sentAt: eventAt,
    receivedAt,
    origin: 'stream',
    tradedAt: isTrade ? eventAt : undefined,
    // Frames may go on during a halt: docs/exchanges.md#unconfirmed.
    tradable: undefined,
  } as const
  return { kind: 'tick', tick }
}

/** The price that Binance writes as a text of digits with at most one point between them; undefined for any other. */
export function priceOf(text: unknown): number | undefined {
  if (typeof text !== 'string' || text.length > 40 || !/^\d+(\.\d+)?$/.test(text)) return undefined
  const price = Number(text)
  return isPrice(price) ? price : undefined
}
