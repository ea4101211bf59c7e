import { messageOf, minuteOf } from '@kimchi/core'
import {
  binanceTradingPrices,
  getJson,
  matchCoins,
  parseBinanceSymbols,
  parseUpbitMarkets,
} from '@kimchi/feeds'
import type { Instruments } from './instruments.ts'
import type { World } from './world.ts'

/** The prices are asked for when frames have come. */
const PRICES_AFTER_MS = 5_000

/** Checking more silent symbols than this would tell nothing new. */
const MOST_SILENT = 10

/** One REST answer at the base in use, kept under a name. */
async function ask(instruments: Instruments, exchange: 'upbit' | 'binance', name: string, path: string) {
  const { bases, userAgent, recorder, context } = instruments
  const { signal, clock } = context
  const answer = await bases[exchange].request(base =>
    getJson(`${base}${path}`, { exchange, userAgent, signal }, clock),
  )
  recorder.answer(name, answer.text)
  return answer
}

/** Loads both lists, each by itself, and matches them. */
export async function loadLists(world: World, instruments: Instruments): Promise<void> {
  const { listings, listingProblems } = world
  const load = (exchange: 'upbit' | 'binance', name: string, path: string, parse: (json: unknown) => void) =>
    ask(instruments, exchange, name, path)
      .then(({ json }) => parse(json))
      .catch(thrown => void listingProblems.push(messageOf(thrown)))
  await load('upbit', 'upbit-market-all', '/v1/market/all?is_details=true', json => {
    listings.upbit = parseUpbitMarkets(json)
  })
  await load('binance', 'binance-exchange-info', '/api/v3/exchangeInfo?showPermissionSets=false', json => {
    listings.binance = parseBinanceSymbols(json)
  })
  const { upbit, binance } = listings
  if (upbit === undefined || binance === undefined) return
  world.coins = matchCoins({ upbit, binance, wanted: instruments.config.COINS, strict: false }).coins
}

/** Notes what the headers say is left. */
export async function noteLimits({ limits }: World, instruments: Instruments): Promise<void> {
  const note = async (exchange: 'upbit' | 'binance', path: string, header: string) => {
    const answer = await ask(instruments, exchange, `${exchange}-limits`, path).catch(() => undefined)
    const value = answer?.headers.get(header)
    if (value) limits[exchange].push(value)
  }
  await Promise.all([
    note('upbit', '/v1/candles/minutes/1?market=KRW-BTC&count=1', 'remaining-req'),
    note('binance', '/api/v3/ping', 'x-mbx-used-weight-1m'),
  ])
}

/** Asks Upbit for one candle more than it gives, before a whole minute that has a candle of its own. */
export async function askForTooMany(world: World, instruments: Instruments): Promise<void> {
  const to = (minuteOf(instruments.context.clock.now()) - 10) * 60_000
  const before = new Date(to).toISOString().replace('.000Z', 'Z')
  const path = `/v1/candles/minutes/1?market=KRW-BTC&count=201&to=${before}`
  const answer = await ask(instruments, 'upbit', 'upbit-candles', path).catch(() => undefined)
  if (!Array.isArray(answer?.json)) return
  const opens = answer.json.map(candle => Date.parse(`${candle?.candle_date_time_utc}Z`))
  world.page = { count: opens.length, newest: Math.max(...opens), to }
}

/** Starts the REST child, which takes seconds: too long for the first candle. */
export async function wakeRest({ rest, context: { clock, signal } }: Instruments): Promise<void> {
  const to = minuteOf(clock.now())
  await rest.candlePage({ exchange: 'upbit', market: 'KRW-BTC', from: to - 1, to }, signal).catch(() => {})
}

/** Asks which symbols trade and at what price, and gives the prices to the samples as the feed does. */
export async function askPrices(world: World, instruments: Instruments): Promise<void> {
  const { bases, userAgent, rest, context, latest } = instruments
  const { clock, signal } = context
  await clock.wait(PRICES_AFTER_MS, signal)
  let isRefused = false
  const fetchTrading = (fetching: AbortSignal) => {
    isRefused = true
    return rest.fetchTrading(fetching)
  }
  const askTradingPrices = binanceTradingPrices({ bases: bases.binance, userAgent, fetchTrading }, { clock })
  const askedAt = clock.now()
  const prices = await askTradingPrices(signal).catch(() => undefined)
  if (prices === undefined) return
  const now = clock.now()
  world.trading = { prices, isRefused, askedAt, answeredAt: now }
  const times = { eventAt: now, sentAt: undefined, receivedAt: now, tradedAt: now }
  for (const [market, price] of prices) {
    if (price === undefined) continue
    latest.record({ exchange: 'binance', market, price, ...times, origin: 'seed', tradable: true })
  }
}

/** Asks the candles of symbols that sent nothing whether they traded in the whole minutes of the watch. */
export async function askSilentSymbols(world: World, instruments: Instruments): Promise<void> {
  const { rest, context } = instruments
  const range = { from: minuteOf(world.openedAt) + 1, to: minuteOf(context.clock.now()) }
  const sending = new Set(world.binance?.ticks.map(({ market }) => market))
  const silent = world.binance?.markets.filter(market => !sending.has(market)) ?? []
  for (const market of silent.slice(0, MOST_SILENT)) {
    const page = await rest
      .candlePage({ exchange: 'binance', market, ...range }, context.signal)
      .catch(() => undefined)
    if (page?.candles.some(([, , volume]) => volume > 0)) world.silentTraders.push(market)
  }
}
