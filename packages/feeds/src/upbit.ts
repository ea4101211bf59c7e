import { type EpochMs, isPrice, type Market, type Tick } from '@kimchi/core'
import { type Fields, fieldsOf, isExchangeTime } from './feed/parse-frame.ts'
import type { Decoded, Decoder, Protocol } from './feed/protocol.ts'
import { complaint, IGNORED, malformed, unreadable } from './feed/protocol.ts'

/**
 * Upbit's public ticker channel: all markets in one subscription on one connection. A frame, of more fields:
 * ```json
 * { "type": "ticker", "code": "KRW-BTC", "stream_type": "REALTIME", "trade_price": 108746000,
 *   "trade_timestamp": 1795222583920, "timestamp": 1795222583960, "market_state": "ACTIVE" }
 * ```
 * Never send an `Origin` header here: Upbit throttles such clients to one request in ten seconds.
 * @see https://docs.upbit.com/kr/reference/websocket-ticker, docs/exchanges.md#upbit-websocket
 */
export const upbitProtocol: Protocol = {
  exchange: 'upbit',
  urlOf: base => base,
  subscribe: (codes, id) => [
    JSON.stringify([{ ticket: `kimchi-${id.toString(36)}` }, { type: 'ticker', codes }]),
  ],
  createDecoder: createUpbitDecoder,
  stallAfterMs: 30_000,
  maxAgeMs: undefined,
  // Upbit cuts a connection that has been quiet for a minute.
  pingEveryMs: 20_000,
}

/** Finds the market in a frame that is no JSON. */
const CODE = /"code"\s*:\s*"([^"]+)"/g

/** A decoder of Upbit ticker frames in format DEFAULT, binary or text. */
export function createUpbitDecoder(markets: readonly Market[]): Decoder {
  const wanted: ReadonlySet<Market> = new Set(markets)
  return (frame, receivedAt) => {
    const fields = fieldsOf(frame)
    if (fields === undefined) return unreadable(frame, CODE, wanted)
    if (fields.type === 'ticker') return toTick(fields, wanted, receivedAt)
    return fields.error === undefined ? IGNORED : complaint(fields.error, 'name', 'message')
  }
}

function toTick(fields: Fields, wanted: ReadonlySet<Market>, receivedAt: EpochMs): Decoded {
  const { code: market, trade_price: price, trade_timestamp: tradedAt, timestamp: sentAt } = fields
  if (typeof market !== 'string') return malformed('code', market)
  if (!wanted.has(market)) return IGNORED
  // Only a frame marked REALTIME shows that something has just happened.
  const isStream = fields.stream_type === 'REALTIME'
  const tradable = isTradable(fields.market_state, fields.is_trading_suspended, isStream)
  // It has no last trade to record; two answers in a row without the market halt it.
  if (tradable === false && (!isPrice(price) || !isExchangeTime(tradedAt))) return IGNORED
  if (!isPrice(price)) return malformed('trade_price', price, market)
  if (!isExchangeTime(tradedAt)) return malformed('trade_timestamp', tradedAt, market)
  // No trade comes after its own frame: one of the two times is wrong.
  if (isExchangeTime(sentAt) && tradedAt > sentAt) return malformed('trade_timestamp', tradedAt, market)
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
