import {
  type Context,
  HOUR_MS,
  LatestTicks,
  type Market,
  messageOf,
  minuteOf,
  PACEMAKERS,
  REFERENCE_MARKETS,
} from '@kimchi/core'
import {
  binanceProtocol,
  binanceTradingPrices,
  createRestBases,
  getJson,
  matchCoins,
  type Protocol,
  parseBinanceSymbols,
  parseUpbitMarkets,
  upbitProtocol,
} from '@kimchi/feeds'
import { answersOf } from './ask-bases.ts'
import type { Desk, DeskOptions } from './desk.ts'
import { watchCandles } from './watch-candles.ts'
import { WatchedStream, type WatchOptions } from './watched-stream.ts'
import type { BaseVariable, World } from './world.ts'

/** A code that no exchange lists. */
const NO_SUCH_CODE = 'KRW-NOSUCHCODE'

/** When Upbit's subscription is sent again, after the streams were opened. */
const RENEWALS_MS = [15_000, 30_000, 45_000]

/** As many as one connection to Binance may carry, with room for the reference markets. */
const MOST_MARKETS = 1_000

/** Frames come before the prices are asked for. */
const PRICES_AFTER_MS = 5_000

/** Asks both exchanges whatever the checks want to know, and fills in the world as the answers come. */
export async function observe(world: World, options: DeskOptions, context: Context): Promise<void> {
  options.onProgress('asking every base')
  world.bases.push(...(await answersOf(options, context)))
  const basesOf = (variable: BaseVariable) => {
    const answering = inUse(world, variable)
    return answering === undefined ? options.config[variable] : [answering]
  }
  const bases = createRestBases(basesOf('UPBIT_REST_URL'), basesOf('BINANCE_REST_URL'), context)
  const rest = options.openRest(bases)
  const desk: Desk = { ...options, bases, rest, context, latest: new LatestTicks() }
  try {
    options.onProgress('loading the lists')
    await loadLists(world, desk)
    await Promise.all([noteLimits(world, desk), askForTooMany(world, desk), wakeRest(desk)])
    options.onProgress('opening the streams')
    openStreams(world, desk)
    await Promise.all([renew(world, desk), askPrices(world, desk), watchCandles(world, desk)])
    options.onProgress('asking for the limits')
    await noteLimits(world, desk)
  } finally {
    world.leftAt = context.clock.now()
    const streams = [world.upbit, world.twin, world.idle, world.binance]
    await Promise.all(streams.map(stream => stream?.connection.close()))
    await rest.close()
  }
}

/** The base that the service would use. */
function inUse({ bases }: World, variable: BaseVariable): string | undefined {
  return bases.find(answer => answer.variable === variable && answer.isAnswering)?.base
}

/** One REST answer at the base in use, kept under a name. */
async function ask(desk: Desk, exchange: 'upbit' | 'binance', name: string, path: string) {
  const { bases, userAgent, recorder, context } = desk
  const { signal, clock } = context
  const answer = await bases[exchange].request(base =>
    getJson(`${base}${path}`, { exchange, userAgent, signal }, clock),
  )
  recorder.answer(name, answer.text)
  return answer
}

async function loadLists(world: World, desk: Desk): Promise<void> {
  const { listings, listingProblems } = world
  const load = (exchange: 'upbit' | 'binance', name: string, path: string, parse: (json: unknown) => void) =>
    ask(desk, exchange, name, path)
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
  world.coins = matchCoins({ upbit, binance, wanted: desk.config.COINS, strict: false }).coins
}

async function noteLimits({ limits }: World, desk: Desk): Promise<void> {
  const note = async (exchange: 'upbit' | 'binance', path: string, header: string) => {
    const answer = await ask(desk, exchange, `${exchange}-limits`, path).catch(() => undefined)
    const value = answer?.headers.get(header)
    if (value) limits[exchange].push(value)
  }
  await Promise.all([
    note('upbit', '/v1/candles/minutes/1?market=KRW-BTC&count=1', 'remaining-req'),
    note('binance', '/api/v3/ping', 'x-mbx-used-weight-1m'),
  ])
}

/** Asks Upbit for one candle more than it gives, before a whole minute that has a candle of its own. */
async function askForTooMany(world: World, desk: Desk): Promise<void> {
  const to = (minuteOf(desk.context.clock.now()) - 10) * 60_000
  const before = new Date(to).toISOString().replace('.000Z', 'Z')
  const path = `/v1/candles/minutes/1?market=KRW-BTC&count=201&to=${before}`
  const answer = await ask(desk, 'upbit', 'upbit-candles', path).catch(() => undefined)
  if (!Array.isArray(answer?.json)) return
  const opens = answer.json.map(candle => Date.parse(`${candle?.candle_date_time_utc}Z`))
  world.page = { count: opens.length, newest: Math.max(...opens), to }
}

/** The child takes seconds to start: too long for the first look at a candle. */
async function wakeRest({ rest, context: { clock, signal } }: Desk): Promise<void> {
  const to = minuteOf(clock.now())
  await rest.candlePage({ exchange: 'upbit', market: 'KRW-BTC', from: to - 1, to }, signal).catch(() => {})
}

function openStreams(world: World, desk: Desk): void {
  const { config, userAgent, recorder, context, latest } = desk
  const marketsOf = (exchange: 'upbit' | 'binance') => {
    const listed = world.listings[exchange]?.markets.map(({ market }) => market) ?? []
    // Without the other exchange's list nothing matches; then all of this one's markets are as good.
    const ours =
      world.coins.length > 0 ? world.coins.map(coin => coin[exchange]) : listed.slice(0, MOST_MARKETS)
    return [...new Set([...REFERENCE_MARKETS[exchange], ...PACEMAKERS[exchange], ...ours])]
  }
  const open = (name: string, variable: BaseVariable, options: Omit<WatchOptions, 'base' | 'userAgent'>) => {
    const base = inUse(world, variable)
    const onRaw: WatchOptions['onRaw'] = (frame, at) => recorder.frame(name, frame, at)
    return base === undefined ? undefined : new WatchedStream({ ...options, base, userAgent, onRaw }, context)
  }
  const onTick: WatchOptions['onTick'] = tick => void latest.record(tick)
  const upbit = upbitProtocol(config.UPBIT_WS_URL)
  // Nothing but our pings keeps it open.
  const patient: Protocol = { ...upbit, maxSilenceMs: HOUR_MS }
  const binance = binanceProtocol(config.BINANCE_WS_URL)
  const markets: Market[] = marketsOf('upbit')
  world.openedAt = context.clock.now()
  world.upbit = open('upbit-ws', 'UPBIT_WS_URL', { protocol: upbit, markets, onTick })
  world.twin = open('upbit-ws-twin', 'UPBIT_WS_URL', { protocol: upbit, markets })
  world.idle = open('upbit-ws-idle', 'UPBIT_WS_URL', { protocol: patient, markets: [NO_SUCH_CODE] })
  world.binance = open('binance-ws', 'BINANCE_WS_URL', {
    protocol: binance,
    markets: marketsOf('binance'),
    onTick,
  })
}

async function renew({ upbit, renewals, openedAt }: World, { context }: Desk): Promise<void> {
  const { clock, signal } = context
  for (const afterMs of RENEWALS_MS) {
    await clock.wait(openedAt + afterMs - clock.now(), signal)
    if (signal.aborted || upbit === undefined || upbit.connection.signal.aborted) return
    renewals.push(clock.now())
    upbit.connection.renewSubscription()
  }
}

/** Asks which symbols trade and at what price, and gives the prices to the samples as the feed does. */
async function askPrices(world: World, desk: Desk): Promise<void> {
  const { bases, userAgent, rest, context, latest } = desk
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
