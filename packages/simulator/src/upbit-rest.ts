import { createWindowCounter } from './limits.ts'
import { isListed, listedMarkets } from './market-state.ts'
import { type RestAnswer, type RestHandler, wholeNumber } from './rest-answer.ts'
import type { Candle, EpochMs, Market } from './types.ts'
import { createUpbitTicker, type UpbitObject } from './upbit-ticker.ts'
import { asKoreanTime, compactDate, compactTime, isoSeconds } from './utc.ts'
import type { World } from './world.ts'

const MINUTE = 60_000
const UNITS: readonly number[] = [1, 3, 5, 10, 15, 30, 60, 240]
const MAX_CANDLES = 200
const PER_SECOND = 10
/** How far back candles are searched for before the answer is cut short. */
const MAX_EMPTY = 20_000

/** Upbit's quotation REST under /v1. @see exchange-protocols §2 */
export function createUpbitRest(world: World): RestHandler {
  const ticker = createUpbitTicker(world)
  const perSecond = createWindowCounter(1_000)
  const perTenSeconds = createWindowCounter(10_000)

  const route = (url: URL): { group: string; answer: () => RestAnswer } | undefined => {
    const path = url.pathname
    if (path === '/v1/market/all') return { group: 'market', answer: () => marketAll(world, url) }
    if (path === '/v1/ticker') return { group: 'ticker', answer: () => tickers(world, ticker, codesOf(url)) }
    if (path === '/v1/ticker/all') return { group: 'ticker', answer: () => allTickers(world, ticker, url) }
    const unit = /^\/v1\/candles\/minutes\/(\d+)$/.exec(path)?.[1]
    if (unit) return { group: 'candle', answer: () => candles(world, url, Number(unit)) }
    return path.startsWith('/v1/')
      ? { group: 'default', answer: () => failed(404, 404, 'no Route matched') }
      : undefined
  }
  return (url, caller, { origin }) => {
    const found = route(url)
    if (!found) return undefined
    const now = world.clock.now()
    const group = origin === undefined ? found.group : 'origin'
    const allowed = origin === undefined ? PER_SECOND : 1
    const counter = origin === undefined ? perSecond : perTenSeconds
    const left = allowed - counter.add(`${caller}/${group}`, now)
    const headers = { 'remaining-req': `group=${group}; min=${allowed * 60}; sec=${Math.max(0, left)}` }
    if (left < 0 && world.limits)
      return { ...failed(429, 'too_many_requests', '요청 수 제한을 초과했습니다.'), headers }
    return { ...found.answer(), headers }
  }
}

function marketAll(world: World, url: URL): RestAnswer {
  const isDetailed = url.searchParams.get('is_details') === 'true'
  const body = listedMarkets(world, 'upbit').map(({ code, coin }) => {
    const names = { market: code, korean_name: coin.upbit?.koreanName, english_name: coin.upbit?.englishName }
    return isDetailed ? { ...names, market_event: eventOf(coin.upbit?.warning ?? false) } : names
  })
  return { status: 200, body }
}

function eventOf(warning: boolean): object {
  const caution = {
    PRICE_FLUCTUATIONS: false,
    TRADING_VOLUME_SOARING: false,
    DEPOSIT_AMOUNT_SOARING: false,
    GLOBAL_PRICE_DIFFERENCES: false,
    CONCENTRATION_OF_SMALL_ACCOUNTS: false,
  }
  return { warning, caution }
}

function codesOf(url: URL): string[] {
  return (url.searchParams.get('markets') ?? '').split(',').filter(code => code !== '')
}

type MakeTicker = ReturnType<typeof createUpbitTicker>

function tickers(world: World, ticker: MakeTicker, codes: readonly string[]): RestAnswer {
  if (codes.length === 0) return failed(400, 400, 'markets is missing')
  const body: UpbitObject[] = []
  for (const code of codes) {
    const market = listed(world, code)
    if (!market) return failed(404, 404, 'Code not found')
    const last = world.prices.lastTrade('upbit', code, world.clock.now())
    if (last) body.push(asRest(ticker(market, last)))
  }
  return { status: 200, body }
}

function allTickers(world: World, ticker: MakeTicker, url: URL): RestAnswer {
  const quotes = (url.searchParams.get('quote_currencies') ?? '').toUpperCase().split(',')
  const codes = listedMarkets(world, 'upbit')
    .filter(market => quotes.includes(market.quote))
    .map(market => market.code)
  return codes.length > 0 ? tickers(world, ticker, codes) : { status: 200, body: [] }
}

function asRest(ticker: UpbitObject): UpbitObject {
  const { type, code, ask_bid, acc_ask_volume, acc_bid_volume, market_state, is_trading_suspended, ...rest } =
    ticker
  const { delisting_date, market_warning, trade_date, trade_time, ...figures } = rest
  const korean = asKoreanTime(Number(ticker.trade_timestamp))
  return {
    market: code ?? '',
    trade_date: trade_date ?? '',
    trade_time: trade_time ?? '',
    trade_date_kst: compactDate(korean),
    trade_time_kst: compactTime(korean),
    ...figures,
  }
}

function candles(world: World, url: URL, unit: number): RestAnswer {
  if (!UNITS.includes(unit)) return failed(400, 400, `Invalid unit: ${unit}`)
  const market = listed(world, url.searchParams.get('market') ?? '')
  if (!market) return failed(404, 404, 'Code not found')
  const count = wholeNumber(url.searchParams.get('count'), 1)
  if (!(count > 0)) return failed(400, 400, `Invalid count: ${url.searchParams.get('count')}`)
  const to = instantOf(url.searchParams.get('to'), world.clock.now())
  if (Number.isNaN(to)) return failed(400, 400, `Invalid to: ${url.searchParams.get('to')}`)
  const found = candlesBefore(
    world,
    market,
    Math.min(to, world.clock.now()),
    unit,
    Math.min(count, MAX_CANDLES),
  )
  return { status: 200, body: found.map(candle => candleObject(market, candle, unit)) }
}

/** The newest `count` candles that open before `to`, newest first; the one that holds this moment is still open. */
function candlesBefore(world: World, market: Market, to: EpochMs, unit: number, count: number): Candle[] {
  const length = unit * MINUTE
  const now = world.clock.now()
  const found: Candle[] = []
  let empty = 0
  for (
    let open = Math.ceil(to / length) * length - length;
    found.length < count && empty < MAX_EMPTY;
    open -= length
  ) {
    const candle = world.prices.candle('upbit', market.code, open, Math.min(length, now - open))
    if (candle) found.push(candle)
    else empty += 1
    if (open < market.listedAt) break
  }
  return found
}

function candleObject(market: Market, candle: Candle, unit: number): object {
  return {
    market: market.code,
    candle_date_time_utc: isoSeconds(candle.openTime),
    candle_date_time_kst: isoSeconds(asKoreanTime(candle.openTime)),
    opening_price: candle.open,
    high_price: candle.high,
    low_price: candle.low,
    trade_price: candle.close,
    timestamp: candle.lastTradeAt,
    candle_acc_trade_price: candle.quoteVolume,
    candle_acc_trade_volume: Math.round(candle.volume * 1e8) / 1e8,
    unit,
  }
}

/** An ISO 8601 instant; without an offset it is UTC. NaN when it is none. */
function instantOf(text: string | null, fallback: EpochMs): EpochMs {
  if (text === null || text === '') return fallback
  const iso = text.trim().replace(' ', 'T')
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(iso) ? iso : `${iso}Z`)
}

function listed(world: World, code: string): Market | undefined {
  const market = world.markets.get('upbit', code)
  return market && isListed(world, market) ? market : undefined
}

function failed(status: number, name: string | number, message: string): RestAnswer {
  return { status, body: { error: { name, message } } }
}
