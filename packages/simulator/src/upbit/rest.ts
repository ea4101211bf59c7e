import type { Candle } from '../market/candle.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs } from '../market/types.ts'
import { type ExchangeRest, type RestResponse, wholeNumber } from '../server/exchange-rest.ts'
import { createWindowCounter } from '../server/window-counter.ts'

const MINUTE = 60_000
const KST = 9 * 60 * MINUTE
const MAX_CANDLES = 200
const PER_SECOND = 10
/** Minutes without a candle that a response skips before it is cut short. */
const MAX_EMPTY = 20_000

/** Upbit's quotation REST under /v1. @see docs/exchanges.md#upbit-rest */
export function createUpbitRest(exchanges: SimulatedExchanges): ExchangeRest {
  const allowed = PER_SECOND * exchanges.limitFactor
  const counter = createWindowCounter(1_000)
  return {
    respond(url, caller) {
      const route = ROUTES[url.pathname]
      if (!route) return failed(404, 404, 'no Route matched')
      const { group, respond } = route
      const left = allowed - counter(`${caller}/${group}`, exchanges.clock.now())
      const headers = { 'remaining-req': `group=${group}; min=${allowed * 60}; sec=${Math.max(0, left)}` }
      if (left >= 0) return { ...respond(exchanges, url), headers }
      return { ...failed(429, 'too_many_requests', '요청 수 제한을 초과했습니다.'), headers }
    },
    refusalBody: status => failed(status, status, 'A fault asked for this.').body,
  }
}

const ROUTES: Readonly<
  Record<string, { group: string; respond: (exchanges: SimulatedExchanges, url: URL) => RestResponse }>
> = {
  '/v1/market/all': { group: 'market', respond: marketAll },
  '/v1/candles/minutes/1': { group: 'candle', respond: candles },
}

/** No market has a caution; the names are the wire's. */
const CAUTION = {
  PRICE_FLUCTUATIONS: false,
  TRADING_VOLUME_SOARING: false,
  DEPOSIT_AMOUNT_SOARING: false,
  GLOBAL_PRICE_DIFFERENCES: false,
  CONCENTRATION_OF_SMALL_ACCOUNTS: false,
}

/** Always with details, as if `is_details=true` had been asked for. */
function marketAll({ listings }: SimulatedExchanges): RestResponse {
  const body = listings.all('upbit').map(({ market, coin: { upbit } }) => ({
    market,
    korean_name: upbit?.koreanName,
    english_name: upbit?.englishName,
    market_event: { warning: upbit?.warning ?? false, caution: CAUTION },
  }))
  return { status: 200, body }
}

function candles(exchanges: SimulatedExchanges, url: URL): RestResponse {
  const query = url.searchParams
  const listing = exchanges.listings.get('upbit', query.get('market') ?? '')
  if (!listing) return failed(404, 404, 'Code not found')
  const count = wholeNumber(query.get('count'), 1)
  if (!(count > 0)) return failed(400, 400, `Invalid count: ${query.get('count')}`)
  const now = exchanges.clock.now()
  const to = instantOf(query.get('to'), now)
  if (Number.isNaN(to)) return failed(400, 400, `Invalid to: ${query.get('to')}`)
  const { market } = listing
  const found = candlesBefore(exchanges, market, Math.min(to, now), Math.min(count, MAX_CANDLES))
  return { status: 200, body: found.map(candle => candleObject(market, candle)) }
}

/** The newest `count` candles that open before `to`, newest first; the running minute has one too. */
function candlesBefore(
  { prices, clock, faults }: SimulatedExchanges,
  market: string,
  to: EpochMs,
  count: number,
) {
  const found: Candle[] = []
  const now = clock.now()
  const late = faults.find('late-candles', { exchange: 'upbit', at: now })?.fault.lateMs
  const isThere = (open: EpochMs) => late === undefined || open + MINUTE + late <= now
  const newest = Math.ceil(to / MINUTE) * MINUTE - MINUTE
  for (let open = newest, empty = 0; found.length < count && empty < MAX_EMPTY; open -= MINUTE) {
    const candle = isThere(open) ? prices.candle('upbit', market, open, now) : undefined
    if (candle) found.push(candle)
    else empty += 1
  }
  return found
}

function candleObject(market: string, candle: Candle): object {
  return {
    market,
    candle_date_time_utc: isoSeconds(candle.openTime),
    candle_date_time_kst: isoSeconds(candle.openTime + KST),
    opening_price: candle.open,
    high_price: candle.high,
    low_price: candle.low,
    trade_price: candle.close,
    timestamp: candle.lastTradeAt,
    candle_acc_trade_price: candle.quoteVolume,
    candle_acc_trade_volume: Math.round(candle.volume * 1e8) / 1e8,
    unit: 1,
  }
}

/** `yyyy-MM-ddTHH:mm:ss` in UTC, without zone. */
function isoSeconds(at: EpochMs): string {
  return new Date(at).toISOString().slice(0, 19)
}

/** An ISO 8601 instant; without an offset it is UTC. NaN when it is not one. */
function instantOf(text: string | null, fallback: EpochMs): EpochMs {
  if (text === null || text === '') return fallback
  const iso = text.trim().replace(' ', 'T')
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(iso) ? iso : `${iso}Z`)
}

function failed(status: number, name: string | number, message: string): RestResponse {
  return { status, body: { error: { name, message } } }
}
