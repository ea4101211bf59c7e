import { acts } from '../faults/faults.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs, Listing } from '../market/types.ts'
import { type ExchangeRest, type RestResponse, wholeNumber } from '../server/exchange-rest.ts'
import { createWindowCounter } from '../server/window-counter.ts'
import { binanceStatus, decimal, symbolEntry } from './symbols.ts'

const MINUTE = 60_000
const MAX_ROWS = 1_000
const WEIGHT_PER_MINUTE = 6_000
/** Requests after the first 429 of a minute until the address is banned. */
const PATIENCE = 50

/** Binance's public spot REST under /api/v3. @see docs/exchanges.md#binance-rest */
export function createBinanceRest(exchanges: SimulatedExchanges): ExchangeRest {
  const { clock, limitFactor } = exchanges
  const usedWeight = createWindowCounter(MINUTE)
  const refusals = createWindowCounter(MINUTE)
  const bannedUntil = new Map<string, EpochMs>()

  const refuse = (caller: string, now: EpochMs): RestResponse => {
    if (refusals(caller, now) > PATIENCE) bannedUntil.set(caller, now + 2 * MINUTE)
    const until = bannedUntil.get(caller)
    const waitMs = until === undefined ? MINUTE - (now % MINUTE) : until - now
    const headers = { 'retry-after': String(Math.ceil(waitMs / 1_000)) }
    if (until === undefined) return { ...failed(429, -1003, 'Too much request weight used.'), headers }
    return { ...failed(418, -1003, `Way too much request weight used; banned until ${until}.`), headers }
  }
  return {
    respond(url, caller) {
      const now = clock.now()
      const route = ROUTES[url.pathname]
      const weight = usedWeight(caller, now, route?.weight ?? 1)
      if (weight > WEIGHT_PER_MINUTE * limitFactor || (bannedUntil.get(caller) ?? 0) > now) {
        return refuse(caller, now)
      }
      bannedUntil.delete(caller)
      return route?.respond(exchanges, url) ?? failed(404, -1000, 'Path not found')
    },
    refusalBody(status) {
      const code = status === 418 || status === 429 ? -1003 : 0
      return failed(status, code, 'A fault asked for this.').body
    },
  }
}

const ROUTES: Readonly<
  Record<string, { weight: number; respond: (exchanges: SimulatedExchanges, url: URL) => RestResponse }>
> = {
  '/api/v3/ping': { weight: 1, respond: () => ({ status: 200, body: {} }) },
  '/api/v3/exchangeInfo': { weight: 20, respond: exchangeInfo },
  '/api/v3/ticker/price': { weight: 4, respond: tickerPrice },
  '/api/v3/klines': { weight: 2, respond: klines },
}

function exchangeInfo(exchanges: SimulatedExchanges, url: URL): RestResponse {
  const symbols = listingsOf(exchanges, url)?.map(listing => symbolEntry(exchanges, listing))
  if (!symbols) return failed(400, -1121, 'Invalid symbol.')
  const head = { timezone: 'UTC', serverTime: exchanges.clock.now(), rateLimits: [], exchangeFilters: [] }
  return { status: 200, body: { ...head, symbols } }
}

function tickerPrice(exchanges: SimulatedExchanges, url: URL): RestResponse {
  const listings = listingsOf(exchanges, url)
  if (!listings) return failed(400, -1121, 'Invalid symbol.')
  const body = listings.flatMap(({ market }) => {
    const last = exchanges.prices.lastTrade('binance', market, exchanges.clock.now())
    return last ? [{ symbol: market, price: decimal(last.price) }] : []
  })
  return { status: 200, body }
}

/** What a query asks for; undefined for one that names symbols, which is not simulated. */
function listingsOf(exchanges: SimulatedExchanges, { searchParams }: URL): readonly Listing[] | undefined {
  if (searchParams.has('symbol') || searchParams.has('symbols')) return undefined
  const status = searchParams.get('symbolStatus')
  const all = exchanges.listings.all('binance')
  return all.filter(listing => status === null || binanceStatus(exchanges, listing) === status)
}

/** A row for every minute, with volume 0 when nothing traded. */
function klines(exchanges: SimulatedExchanges, url: URL): RestResponse {
  const query = url.searchParams
  const listing = exchanges.listings.get('binance', query.get('symbol') ?? '')
  if (!listing) return failed(400, -1121, 'Invalid symbol.')
  if (query.get('interval') !== '1m') return failed(400, -1120, 'Invalid interval.')
  const limit = wholeNumber(query.get('limit'), 500)
  const now = exchanges.clock.now()
  const to = Math.min(wholeNumber(query.get('endTime'), now), now)
  const from = wholeNumber(query.get('startTime'), Number.NEGATIVE_INFINITY)
  if (!(limit > 0) || Number.isNaN(to) || Number.isNaN(from)) {
    return failed(400, -1100, 'Illegal characters found in a parameter.')
  }
  // The first candles that there are.
  const missing = unwrittenOf(exchanges, listing).find(pause => acts(pause, from))
  const opens = openTimes(missing?.to ?? from, to, Math.min(limit, MAX_ROWS))
  return { status: 200, body: rows(exchanges, listing, opens) }
}

const unwrittenOf = ({ faults }: SimulatedExchanges, { market }: Listing) =>
  faults.pausesOf('binance', market).filter(({ fault }) => fault.klines === 'none')

/** Opening times in [from, to]: the first `limit` of them when `from` is given, else the last. */
function openTimes(from: EpochMs, to: EpochMs, limit: number): EpochMs[] {
  const newest = Math.floor(to / MINUTE) * MINUTE
  const first = from > 0 ? Math.ceil(from / MINUTE) * MINUTE : newest - (limit - 1) * MINUTE
  const opens: EpochMs[] = []
  for (let open = first; open <= newest && opens.length < limit; open += MINUTE) opens.push(open)
  return opens
}

function rows(exchanges: SimulatedExchanges, listing: Listing, opens: readonly EpochMs[]): unknown[][] {
  const { prices, clock } = exchanges
  const { market } = listing
  const unwritten = unwrittenOf(exchanges, listing)
  let before: number | undefined
  return opens.flatMap(open => {
    // The newest row is the open minute: it holds what has traded until now.
    const candle = prices.candle('binance', market, open, clock.now())
    before = candle?.close ?? before ?? prices.lastTrade('binance', market, open)?.price
    if (before === undefined) return []
    if (!candle && unwritten.some(pause => acts(pause, open))) return []
    const { open: first = before, high = before, low = before } = candle ?? {}
    const { volume = 0, quoteVolume = 0, trades = 0 } = candle ?? {}
    const [v, q, bought, spent] = [volume, quoteVolume, volume / 2, quoteVolume / 2].map(decimal)
    const ohlc = [first, high, low, before].map(decimal)
    return [[open, ...ohlc, v, open + MINUTE - 1, q, trades, bought, spent, '0']]
  })
}

function failed(status: number, code: number, msg: string): RestResponse {
  return { status, body: { code, msg } }
}
