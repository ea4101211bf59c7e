import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { binanceStatus, listedMarket, listedMarkets } from '../market/states.ts'
import type { EpochMs, Market } from '../market/types.ts'
import { createWindowCounter } from '../server/limits.ts'
import type { RestResponse, RestSide } from '../server/rest-response.ts'
import { decimal } from './decimal.ts'
import { klines } from './klines.ts'
import { RATE_LIMITS, symbolEntry } from './symbols.ts'

const WEIGHT_PER_MINUTE = 6_000
/** Requests after the first 429 of a minute until the address is banned. */
const PATIENCE = 50

/** Binance's public spot REST under /api/v3. @see docs/exchanges.md#binance-rest */
export function createBinanceRest(exchanges: SimulatedExchanges): RestSide {
  const { clock, limitFactor } = exchanges
  const usedWeight = createWindowCounter(60_000)
  const refusals = createWindowCounter(60_000)
  const bannedUntil = new Map<string, EpochMs>()

  const refuse = (caller: string, now: EpochMs): RestResponse => {
    if (refusals.add(caller, now) > PATIENCE) bannedUntil.set(caller, now + 120_000)
    const until = bannedUntil.get(caller)
    const seconds = Math.ceil((until === undefined ? 60_000 - (now % 60_000) : until - now) / 1_000)
    const msg = 'Too much request weight used; current limit is 6000 request weight per 1 MINUTE.'
    const headers = { 'retry-after': String(seconds) }
    if (until === undefined) return { ...failed(429, -1003, msg), headers }
    return { ...failed(418, -1003, `Way too much request weight used; IP banned until ${until}.`), headers }
  }
  return {
    respond(url, caller) {
      const now = clock.now()
      const weight = usedWeight.add(caller, now, weightOf(url))
      if (weight > WEIGHT_PER_MINUTE * limitFactor || (bannedUntil.get(caller) ?? 0) > now) {
        return refuse(caller, now)
      }
      bannedUntil.delete(caller)
      const response = ROUTES[url.pathname]?.(exchanges, url) ?? failed(404, -1000, 'Path not found')
      return { ...response, headers: { 'x-mbx-used-weight-1m': String(weight) } }
    },
    refusalBody: status => ({ code: REFUSAL_CODES[status] ?? 0, msg: 'A fault asked for this.' }),
  }
}

const REFUSAL_CODES: Readonly<Record<number, number>> = { 400: -1121, 418: -1003, 429: -1003 }

const ROUTES: Readonly<Record<string, (exchanges: SimulatedExchanges, url: URL) => RestResponse>> = {
  '/api/v3/ping': () => ({ status: 200, body: {} }),
  '/api/v3/exchangeInfo': exchangeInfo,
  '/api/v3/ticker/price': tickerPrice,
  '/api/v3/klines': klines,
}

function weightOf({ pathname, searchParams }: URL): number {
  if (pathname === '/api/v3/exchangeInfo') return 20
  if (pathname === '/api/v3/ticker/price') return searchParams.has('symbol') ? 2 : 4
  return pathname === '/api/v3/klines' ? 2 : 1
}

function exchangeInfo(exchanges: SimulatedExchanges, url: URL): RestResponse {
  const status = url.searchParams.get('symbolStatus')
  const names = symbolsOf(url)
  if (status !== null && names) {
    return failed(400, -1128, 'Combination of optional parameters invalid.')
  }
  const markets = marketsOf(exchanges, names)
  if (!markets) return failed(400, -1121, 'Invalid symbol.')
  const symbols = markets
    .filter(market => status === null || binanceStatus(exchanges, market) === status)
    .map(market => symbolEntry(exchanges, market))
  const head = { timezone: 'UTC', serverTime: exchanges.clock.now() }
  return { status: 200, body: { ...head, rateLimits: RATE_LIMITS, exchangeFilters: [], symbols } }
}

function tickerPrice(exchanges: SimulatedExchanges, url: URL): RestResponse {
  const names = symbolsOf(url)
  const markets = marketsOf(exchanges, names)
  if (!markets) return failed(400, -1121, 'Invalid symbol.')
  const status = url.searchParams.get('symbolStatus')
  const matching = markets.filter(market => status === null || binanceStatus(exchanges, market) === status)
  const isOne = url.searchParams.has('symbol')
  if (isOne && matching.length === 0) return failed(400, -1220, 'The symbol status does not match.')
  const prices = matching.flatMap(({ code }) => {
    const last = exchanges.prices.lastTrade('binance', code, exchanges.clock.now())
    return last ? [{ symbol: code, price: decimal(last.price) }] : []
  })
  return { status: 200, body: isOne ? prices[0] : prices }
}

/** The symbols that a query names; undefined when it names none, [''] when it cannot be read. */
function symbolsOf({ searchParams }: URL): readonly string[] | undefined {
  const one = searchParams.get('symbol')
  if (one !== null) return [one]
  const many = searchParams.get('symbols')
  if (many === null) return undefined
  try {
    const parsed: unknown = JSON.parse(many)
    return Array.isArray(parsed) ? parsed.map(String) : ['']
  } catch {
    // A list that cannot be read is refused like a bad symbol.
    return ['']
  }
}

function marketsOf(
  exchanges: SimulatedExchanges,
  names: readonly string[] | undefined,
): readonly Market[] | undefined {
  if (!names) return listedMarkets(exchanges, 'binance')
  const markets = names.map(name => listedMarket(exchanges, 'binance', name))
  return markets.every(market => market !== undefined) ? markets : undefined
}

function failed(status: number, code: number, msg: string): RestResponse {
  return { status, body: { code, msg } }
}
