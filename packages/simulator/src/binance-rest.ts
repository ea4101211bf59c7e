import { klines } from './binance-klines.ts'
import { binanceStatus, RATE_LIMITS, symbolEntry } from './binance-symbols.ts'
import { decimal, fullTicker } from './binance-ticker.ts'
import { createWindowCounter } from './limits.ts'
import { isListed, listedMarkets } from './market-state.ts'
import type { RestAnswer, RestHandler } from './rest-answer.ts'
import type { EpochMs, Market } from './types.ts'
import type { World } from './world.ts'

const WEIGHT_PER_MINUTE = 6_000
/** Requests after the first 429 of a minute until the address is banned. */
const PATIENCE = 50

type Route = (world: World, url: URL) => RestAnswer

/** Binance's public spot REST under /api/v3. @see exchange-protocols §4 */
export function createBinanceRest(world: World): RestHandler {
  const usedWeight = createWindowCounter(60_000)
  const refusals = createWindowCounter(60_000)
  const bannedUntil = new Map<string, EpochMs>()

  const refuse = (caller: string, now: EpochMs): RestAnswer => {
    if (refusals.add(caller, now) > PATIENCE) bannedUntil.set(caller, now + 120_000)
    const until = bannedUntil.get(caller)
    const seconds = Math.ceil((until === undefined ? 60_000 - (now % 60_000) : until - now) / 1_000)
    const msg = 'Too much request weight used; current limit is 6000 request weight per 1 MINUTE.'
    const headers = { 'retry-after': String(seconds) }
    if (until === undefined) return { ...failed(429, -1003, msg), headers }
    return { ...failed(418, -1003, `Way too much request weight used; IP banned until ${until}.`), headers }
  }
  return (url, caller) => {
    const path = url.pathname
    if (!path.startsWith('/api/v3/')) return undefined
    const now = world.clock.now()
    const weight = usedWeight.add(caller, now, weightOf(url))
    if (world.limits && (weight > WEIGHT_PER_MINUTE || (bannedUntil.get(caller) ?? 0) > now))
      return refuse(caller, now)
    bannedUntil.delete(caller)
    const answer = ROUTES[path]?.(world, url) ?? failed(404, -1000, 'Path not found')
    return {
      ...answer,
      headers: { 'x-mbx-used-weight': String(weight), 'x-mbx-used-weight-1m': String(weight) },
    }
  }
}

const ROUTES: Readonly<Record<string, Route>> = {
  '/api/v3/ping': () => ({ status: 200, body: {} }),
  '/api/v3/time': world => ({ status: 200, body: { serverTime: world.clock.now() } }),
  '/api/v3/exchangeInfo': exchangeInfo,
  '/api/v3/ticker/price': tickerPrice,
  '/api/v3/ticker/24hr': tickerDay,
  '/api/v3/klines': klines,
}

function weightOf(url: URL): number {
  const one = url.searchParams.has('symbol')
  switch (url.pathname) {
    case '/api/v3/exchangeInfo':
      return 20
    case '/api/v3/ticker/price':
      return one ? 2 : 4
    case '/api/v3/ticker/24hr': {
      const count = symbolsOf(url)?.length ?? Number.POSITIVE_INFINITY
      return count <= 20 ? 2 : count <= 100 ? 40 : 80
    }
    default:
      return url.pathname === '/api/v3/klines' ? 2 : 1
  }
}

function exchangeInfo(world: World, url: URL): RestAnswer {
  const status = url.searchParams.get('symbolStatus')
  const names = symbolsOf(url)
  if (status !== null && names)
    return failed(400, -1130, 'symbolStatus cannot be combined with symbol or symbols.')
  const markets = chosen(world, names)
  if (!markets) return failed(400, -1121, 'Invalid symbol.')
  const showPermissionSets = url.searchParams.get('showPermissionSets') !== 'false'
  const symbols = markets
    .filter(market => status === null || binanceStatus(world, market) === status)
    .map(market => symbolEntry(world, market, showPermissionSets))
  const head = {
    timezone: 'UTC',
    serverTime: world.clock.now(),
    rateLimits: RATE_LIMITS,
    exchangeFilters: [],
  }
  return { status: 200, body: { ...head, symbols } }
}

function tickerPrice(world: World, url: URL): RestAnswer {
  const names = symbolsOf(url)
  const markets = chosen(world, names)
  if (!markets) return failed(400, -1121, 'Invalid symbol.')
  const status = url.searchParams.get('symbolStatus')
  if (status !== null && names && markets.some(market => binanceStatus(world, market) !== status)) {
    return failed(400, -1220, 'The symbol status does not match the requested symbolStatus.')
  }
  const prices = markets
    .filter(market => status === null || binanceStatus(world, market) === status)
    .flatMap(market => {
      const last = world.prices.lastTrade('binance', market.code, world.clock.now())
      return last ? [{ symbol: market.code, price: decimal(last.price) }] : []
    })
  return { status: 200, body: url.searchParams.has('symbol') ? (prices[0] ?? {}) : prices }
}

function tickerDay(world: World, url: URL): RestAnswer {
  const markets = chosen(world, symbolsOf(url))
  if (!markets) return failed(400, -1121, 'Invalid symbol.')
  const entries = markets.flatMap(market => {
    const event = fullTicker(world, market, world.clock.now())
    return event ? [Object.fromEntries(DAY_FIELDS.map(([name, key]) => [name, event[key]]))] : []
  })
  return { status: 200, body: url.searchParams.has('symbol') ? entries[0] : entries }
}

const DAY_FIELDS: readonly (readonly [name: string, key: string])[] = [
  ['symbol', 's'],
  ['priceChange', 'p'],
  ['priceChangePercent', 'P'],
  ['weightedAvgPrice', 'w'],
  ['prevClosePrice', 'x'],
  ['lastPrice', 'c'],
  ['lastQty', 'Q'],
  ['bidPrice', 'b'],
  ['bidQty', 'B'],
  ['askPrice', 'a'],
  ['askQty', 'A'],
  ['openPrice', 'o'],
  ['highPrice', 'h'],
  ['lowPrice', 'l'],
  ['volume', 'v'],
  ['quoteVolume', 'q'],
  ['openTime', 'O'],
  ['closeTime', 'C'],
  ['firstId', 'F'],
  ['lastId', 'L'],
  ['count', 'n'],
]

/** The symbols that a query names; undefined when it names none, [''] when it cannot be read. */
function symbolsOf(url: URL): readonly string[] | undefined {
  const one = url.searchParams.get('symbol')
  if (one !== null) return [one]
  const many = url.searchParams.get('symbols')
  if (many === null) return undefined
  try {
    const parsed: unknown = JSON.parse(many)
    return Array.isArray(parsed) ? parsed.map(String) : ['']
  } catch {
    // Binance answers a list it cannot read like a bad symbol.
    return ['']
  }
}

function chosen(world: World, names: readonly string[] | undefined): readonly Market[] | undefined {
  if (!names) return listedMarkets(world, 'binance')
  const markets = names.map(name => world.markets.get('binance', name))
  return markets.every(market => market !== undefined && isListed(world, market))
    ? (markets as Market[])
    : undefined
}

function failed(status: number, code: number, msg: string): RestAnswer {
  return { status, body: { code, msg } }
}
