import { type EpochMs, isPrice, type Market } from '@kimchi/core'
import {
  type Fields,
  isExchangeTime,
  isFields,
  malformed,
  parseFrame,
  shown,
  unreadable,
} from '../feed/frame.ts'
import { ACK, type Decoded, type Decoder, IGNORED } from '../feed/protocol.ts'

/** A decoder of Upbit ticker frames, binary or text, in long or short names. @see docs/exchanges.md#upbit-websocket */
export function createUpbitDecoder(): Decoder {
  let wanted: ReadonlySet<Market> = new Set()
  return {
    setMarkets: markets => {
      wanted = new Set(markets)
    },
    seed: () => {},
    decode: (frame, receivedAt) => {
      const value = parseFrame(frame)
      return isFields(value) ? decodeFields(value, wanted, receivedAt) : unreadable(frame)
    },
  }
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
  // A market that does not trade yet has no last trade.
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
  return { kind: 'tick', tick }
}

function isTradable(marketState: unknown, suspended: boolean): boolean {
  return !suspended && (marketState === undefined || marketState === null || marketState === 'ACTIVE')
}

function complaint(error: unknown): Decoded {
  const { name, message } = isFields(error) ? error : { name: 'error', message: error }
  return { kind: 'error', message: `${shown(name)}: ${shown(message)}` }
}
