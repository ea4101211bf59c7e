import { type EpochMs, isPrice, type Market } from '@kimchi/core'
import { perCoinPrice } from '../catalogue/pairs.ts'
import {
  decodeList,
  type Fields,
  isExchangeTime,
  isFields,
  malformed,
  parseFrame,
  shown,
  unreadable,
} from '../feed/frame.ts'
import { ACK, type Decoded, type Decoder, IGNORED, type Protocol, SHUTDOWN } from '../feed/protocol.ts'

/** Where Binance's spot streams answer. */
export const BINANCE_WS_URL = 'wss://stream.binance.com:9443'

/** A subscribe message names at most this many streams; clients in the field split above 350. */
const STREAMS_PER_MESSAGE = 300

const HOUR_MS = 3_600_000

/**
 * Binance spot's combined miniTicker streams: one connection, subscribed by message.
 * @param baseUrl the part before `/stream` @default Binance's own
 * @see exchange-protocols §3
 */
export function binanceProtocol(baseUrl: string = BINANCE_WS_URL): Protocol {
  return {
    exchange: 'binance',
    url: `${baseUrl.replace(/\/+$/, '')}/stream`,
    maxMarkets: 1_024,
    subscribe: changes,
    createDecoder: createBinanceDecoder,
    maxSilenceMs: 15_000,
    // Binance cuts at 24 h, sometimes sooner; four hours leave room for many attempts at a new connection.
    maxAgeMs: 20 * HOUR_MS,
    keepalive: undefined,
    // Limits are 5 messages a second on a connection and 300 connections in 5 minutes.
    sendSpacingMs: 1_000,
    connectSpacingMs: 1_100,
  }
}

/**
 * A decoder of Binance miniTicker frames: raw, combined and list shapes. It remembers each market's last price on its
 * connection, since only a changed price proves a trade: a frame also comes when the 24-hour figures changed.
 * @see exchange-protocols §0, §3
 */
export function createBinanceDecoder(): Decoder {
  const previous = new Map<Market, number>()
  const decodeEntry = (entry: unknown, receivedAt: EpochMs): Decoded =>
    isFields(entry) ? decodeFields(entry, previous, receivedAt) : malformed('list entry', entry)
  return {
    setMarkets: markets => {
      const wanted = new Set(markets)
      for (const market of previous.keys()) if (!wanted.has(market)) previous.delete(market)
      for (const market of wanted) if (!previous.has(market)) previous.set(market, UNKNOWN)
    },
    seed: ({ market, price }) => {
      if (previous.get(market) === UNKNOWN) previous.set(market, price)
    },
    decode: (frame, _isBinary, receivedAt) => {
      const value = parseFrame(frame)
      const payload =
        isFields(value) && value.data !== undefined && value.stream !== undefined ? value.data : value
      if (isFields(payload)) return decodeFields(payload, previous, receivedAt)
      if (!Array.isArray(payload)) return unreadable(frame)
      return decodeList(payload, entry => decodeEntry(entry, receivedAt))
    },
  }
}

/** Stands for "no price seen yet"; no price is 0. */
const UNKNOWN = 0

function changes(previous: readonly Market[], next: readonly Market[], id: number): string[] {
  const before = new Set(previous)
  const after = new Set(next)
  const gone = previous.filter(market => !after.has(market))
  const added = next.filter(market => !before.has(market))
  return [...requests('UNSUBSCRIBE', gone, id), ...requests('SUBSCRIBE', added, id + gone.length)]
}

function requests(method: string, markets: readonly Market[], firstId: number): string[] {
  const messages: string[] = []
  for (let at = 0; at < markets.length; at += STREAMS_PER_MESSAGE) {
    const params = markets
      .slice(at, at + STREAMS_PER_MESSAGE)
      .map(market => `${market.toLowerCase()}@miniTicker`)
    messages.push(JSON.stringify({ method, params, id: firstId + at }))
  }
  return messages
}

function decodeFields(fields: Fields, previous: Map<Market, number>, receivedAt: EpochMs): Decoded {
  if (fields.e === '24hrMiniTicker') return toTick(fields, previous, receivedAt)
  if (fields.e === 'serverShutdown') return SHUTDOWN
  if (fields.error !== undefined) return complaint(fields.error)
  if (fields.code !== undefined && fields.msg !== undefined) return complaint(fields)
  return fields.result !== undefined && fields.id !== undefined ? ACK : IGNORED
}

function toTick(fields: Fields, previous: Map<Market, number>, receivedAt: EpochMs): Decoded {
  const { s: market, c: text, E: eventAt } = fields
  if (typeof market !== 'string') return malformed('s', market)
  const before = previous.get(market)
  if (before === undefined) return IGNORED
  if (!isDecimal(text)) return malformed(`${market} c`, text)
  const price = perCoinPrice(market, Number(text))
  if (!isPrice(price)) return malformed(`${market} c`, text)
  if (!isExchangeTime(eventAt)) return malformed(`${market} E`, eventAt)
  previous.set(market, price)
  const tick = {
    exchange: 'binance',
    market,
    price,
    eventAt,
    receivedAt,
    origin: 'stream',
    tradedAt: before !== UNKNOWN && before !== price ? eventAt : undefined,
    tradable: true,
  } as const
  return { kind: 'ticks', ticks: [tick], malformed: undefined }
}

/** Digits with at most one point between them. A loop, because a regular expression costs more on every frame. */
export function isDecimal(value: unknown): value is string {
  if (typeof value !== 'string' || value.length === 0 || value.length > 40) return false
  let points = 0
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at)
    if (code === 46) points += 1
    else if (code < 48 || code > 57) return false
  }
  return points === 0 || (points === 1 && !value.startsWith('.') && !value.endsWith('.'))
}

function complaint(error: unknown): Decoded {
  const { code, msg } = isFields(error) ? error : { code: '', msg: error }
  return { kind: 'error', message: `${shown(code)}: ${shown(msg)}` }
}
