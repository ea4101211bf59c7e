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

/**
 * A decoder of Upbit ticker frames, binary or text, alone or as the only one of a list. It reads format SIMPLE,
 * and DEFAULT in case Upbit ignores the requested format.
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
      if (value.ty === 'ticker') return toTick(value, wanted, receivedAt)
      if (value.type === 'ticker') return toTick(withShortNames(value), wanted, receivedAt)
      if (value.error !== undefined) return complaint(value.error)
      return value.status !== undefined || value.mthd !== undefined ? ACK : IGNORED
    },
  }
}

function withShortNames(fields: Fields): Fields {
  const { code, trade_price, trade_timestamp, timestamp, market_state, is_trading_suspended, stream_type } =
    fields
  const times = { ttms: trade_timestamp, tms: timestamp }
  return { cd: code, tp: trade_price, ...times, ms: market_state, its: is_trading_suspended, st: stream_type }
}

function toTick(fields: Fields, wanted: ReadonlySet<Market>, receivedAt: EpochMs): Decoded {
  const { cd: market, tp: price, ttms: tradedAt, tms: sentAt } = fields
  if (typeof market !== 'string') return malformed('cd', market)
  if (!wanted.has(market)) return IGNORED
  // Only a frame marked REALTIME shows that something has just happened.
  const isStream = fields.st === 'REALTIME'
  const tradable = isTradable(fields.ms, fields.its, isStream)
  if (tradable === false && (!isPrice(price) || !isExchangeTime(tradedAt))) return { kind: 'halted', market }
  if (!isPrice(price)) return malformed(`${market} tp`, price)
  if (!isExchangeTime(tradedAt)) return malformed(`${market} ttms`, tradedAt)
  const tick = {
    exchange: 'upbit',
    market,
    price,
    eventAt: tradedAt,
    sentAt: isExchangeTime(sentAt) ? sentAt : undefined,
    receivedAt,
    origin: isStream ? 'stream' : 'snapshot',
    tradedAt,
    tradable,
  } as const
  return isKnownState(fields.ms)
    ? { kind: 'tick', tick }
    : { kind: 'tick', tick, unknownState: shown(fields.ms) }
}

/** The values of `market_state` for a market that does not trade. */
const NOT_TRADING: readonly unknown[] = ['PREVIEW', 'DELISTED']

function isKnownState(state: unknown): boolean {
  return state === 'ACTIVE' || state === undefined || state === null || NOT_TRADING.includes(state)
}

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
  const refusesMarkets = name === 'INVALID_PARAM' || name === 'NO_CODES'
  return { kind: 'error', message: `${shown(name)}: ${shown(message)}`, refusesMarkets }
}
