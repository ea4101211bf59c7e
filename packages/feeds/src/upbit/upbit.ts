import { type EpochMs, isPrice, type Market } from '@kimchi/core'
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
import { ACK, type Decoded, type Decoder, IGNORED, type Protocol } from '../feed/protocol.ts'

/** Where Upbit's Korean site answers. Its sisters (sg-, id-, th-) list other markets. */
export const UPBIT_WS_URL = 'wss://api.upbit.com/websocket/v1'

/**
 * Upbit's public ticker channel: all markets in one subscription on one connection.
 *
 * Never send an `Origin` header here: Upbit throttles such clients to one request in ten seconds.
 * @param url the whole WebSocket address @default the Korean site
 * @see exchange-protocols §1
 */
export function upbitProtocol(url: string = UPBIT_WS_URL): Protocol {
  return {
    exchange: 'upbit',
    url,
    maxMarkets: 2_000,
    subscribe: (_previous, next, id) => [subscription(next, id)],
    createDecoder: createUpbitDecoder,
    maxSilenceMs: 30_000,
    maxAgeMs: undefined,
    keepalive: { pingEveryMs: 30_000, pongWithinMs: 10_000 },
    // Limits are 5 messages a second and 100 a minute, 5 connections a second.
    sendSpacingMs: 1_000,
    connectSpacingMs: 300,
  }
}

/** A decoder of Upbit ticker frames: binary or text, all four formats. @see exchange-protocols §1, Ticker fields */
export function createUpbitDecoder(): Decoder {
  let wanted: ReadonlySet<Market> = new Set()
  return {
    setMarkets: markets => {
      wanted = new Set(markets)
    },
    seed: () => {},
    decode: (frame, _isBinary, receivedAt) => {
      const value = parseFrame(frame)
      if (isFields(value)) return decodeFields(value, wanted, receivedAt)
      if (!Array.isArray(value)) return unreadable(frame)
      return decodeList(value, entry =>
        isFields(entry) ? decodeFields(entry, wanted, receivedAt) : malformed('list entry', entry),
      )
    },
  }
}

function subscription(markets: readonly Market[], id: number): string {
  return JSON.stringify([
    { ticket: `kimchi-${id.toString(36)}` },
    { type: 'ticker', codes: markets },
    { format: 'DEFAULT' },
  ])
}

function decodeFields(fields: Fields, wanted: ReadonlySet<Market>, receivedAt: EpochMs): Decoded {
  if (fields.type === 'ticker') {
    const suspended = fields.is_trading_suspended === true
    return toTick(
      wanted,
      receivedAt,
      fields.code,
      fields.trade_price,
      fields.trade_timestamp,
      fields.stream_type,
      isTradable(fields.market_state, suspended),
    )
  }
  if (fields.ty === 'ticker') {
    const suspended = fields.its === true
    return toTick(
      wanted,
      receivedAt,
      fields.cd,
      fields.tp,
      fields.ttms,
      fields.st,
      isTradable(fields.ms, suspended),
    )
  }
  if (fields.error !== undefined) return complaint(fields.error)
  const isAnswer = fields.status !== undefined || fields.method !== undefined || fields.mthd !== undefined
  return isAnswer ? ACK : IGNORED
}

function toTick(
  wanted: ReadonlySet<Market>,
  receivedAt: EpochMs,
  market: unknown,
  price: unknown,
  eventAt: unknown,
  streamType: unknown,
  tradable: boolean,
): Decoded {
  if (typeof market !== 'string') return malformed('code', market)
  if (!wanted.has(market)) return IGNORED
  // A market that does not trade yet has no last trade to tell of.
  if (!tradable && (!isPrice(price) || !isExchangeTime(eventAt))) return IGNORED
  if (!isPrice(price)) return malformed(`${market} trade_price`, price)
  if (!isExchangeTime(eventAt)) return malformed(`${market} trade_timestamp`, eventAt)
  // Only what is marked as REALTIME proves that something just happened.
  const isStream = streamType === 'REALTIME'
  const tick = {
    exchange: 'upbit',
    market,
    price,
    eventAt,
    receivedAt,
    origin: isStream ? 'stream' : 'snapshot',
    tradedAt: isStream ? eventAt : undefined,
    tradable,
  } as const
  return { kind: 'ticks', ticks: [tick], malformed: undefined }
}

function isTradable(marketState: unknown, suspended: boolean): boolean {
  return !suspended && (marketState === undefined || marketState === null || marketState === 'ACTIVE')
}

function complaint(error: unknown): Decoded {
  const { name, message } = isFields(error) ? error : { name: 'error', message: error }
  return { kind: 'error', message: `${shown(name)}: ${shown(message)}` }
}
