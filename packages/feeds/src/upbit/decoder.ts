import { type EpochMs, isPrice, type Market, type Tick } from '@kimchi/core'
import {
  type Fields,
  isExchangeTime,
  isFields,
  malformed,
  parseFrame,
  shown,
  unreadable,
} from '../feed/frame.ts'
import { type Decoded, type Decoder, IGNORED } from '../feed/protocol.ts'

/**
 * A decoder of Upbit ticker frames in format DEFAULT, binary or text, alone or as the only one of a list.
 * @see docs/exchanges.md#upbit-websocket
 */
export function createUpbitDecoder(): Decoder {
  let wanted: ReadonlySet<Market> = new Set()
  return {
    setMarkets: markets => {
      wanted = new Set(markets)
    },
    decode: (frame, receivedAt) => {
      const parsed = parseFrame(frame)
      const value = Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed
      if (!isFields(value)) return unreadable(frame)
      if (value.type === 'ticker') return toTick(value, wanted, receivedAt)
      return value.error === undefined ? IGNORED : complaint(value.error)
    },
  }
}

function toTick(fields: Fields, wanted: ReadonlySet<Market>, receivedAt: EpochMs): Decoded {
  const { code: market, trade_price: price, trade_timestamp: tradedAt, timestamp: sentAt } = fields
  if (typeof market !== 'string') return malformed('code', market)
  if (!wanted.has(market)) return IGNORED
  // Only a frame marked REALTIME shows that something has just happened.
  const isStream = fields.stream_type === 'REALTIME'
  const tradable = isTradable(fields.market_state, fields.is_trading_suspended, isStream)
  if (tradable === false && (!isPrice(price) || !isExchangeTime(tradedAt))) return { kind: 'halted', market }
  if (!isPrice(price)) return malformed(`${market} trade_price`, price)
  if (!isExchangeTime(tradedAt)) return malformed(`${market} trade_timestamp`, tradedAt)
  const tick: Tick = {
    exchange: 'upbit',
    market,
    price,
    eventAt: tradedAt,
    sentAt: isExchangeTime(sentAt) ? sentAt : undefined,
    receivedAt,
    origin: isStream ? 'stream' : 'snapshot',
    tradedAt,
    tradable,
  }
  return { kind: 'tick', tick }
}

/** The values of `market_state` for a market that does not trade. */
const NOT_TRADING: readonly unknown[] = ['PREVIEW', 'DELISTED']

/**
 * Whether a market trades, by `market_state` and `is_trading_suspended`, either of which may be missing. Only
 * documented values mean that it doesn't: an unknown state must not halt a market that trades.
 */
function isTradable(state: unknown, isSuspended: unknown, isTrade: boolean): boolean | undefined {
  if (isSuspended === true || NOT_TRADING.includes(state)) return false
  return typeof state === 'string' || isSuspended === false || isTrade ? true : undefined
}

function complaint(error: unknown): Decoded {
  const { name, message } = isFields(error) ? error : { name: 'error', message: error }
  return { kind: 'error', message: `${shown(name)}: ${shown(message)}` }
}
