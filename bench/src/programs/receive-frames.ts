/** Receives frames of both exchanges with one of three clients, and prints CPU time per frame and memory. */
import { LatestTicks, type Tick } from '@kimchi/core'
import { binanceProtocol, createDoors, openFeed, type Protocol, upbitProtocol } from '@kimchi/feeds'
import { createLogger, systemClock } from '@kimchi/runtime'
import { syntheticCoins } from '@kimchi/simulator'
import ccxt, { type Exchange } from 'ccxt'
import { WebSocket } from 'ws'

const { kind, coins, warmUp, frames } = JSON.parse(process.argv[2] ?? '{}')
const { UPBIT_WS_URL: upbitWsUrl = '', BINANCE_WS_URL: binanceWsUrl = '', UPBIT_REST_URL: url } = process.env
const marketsOf = (prefix: string, suffix: string) =>
  syntheticCoins(coins).flatMap(({ id, binance }) => (binance ? [prefix + id + suffix] : []))
/** As the feeds do: unpacking costs more than it saves. */
const PLAIN = { perMessageDeflate: false }
let received = 0
let before = process.cpuUsage()

function count() {
  received += 1
  if (received === warmUp) before = process.cpuUsage()
  if (received !== warmUp + frames) return
  const { user, system } = process.cpuUsage(before)
  const result = { micros: (user + system) / frames, mb: process.memoryUsage.rss() / 2 ** 20 }
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit())
}

class CountingTicks extends LatestTicks {
  override record(tick: Tick) {
    count()
    return super.record(tick)
  }
}

function openFeeds() {
  const sink = new CountingTicks()
  const context = { clock: systemClock, random: Math.random, log: createLogger('bench', 'warn') }
  const streams = { upbit: upbitWsUrl, binance: binanceWsUrl }
  const { signal } = new AbortController()
  const doors = createDoors(
    { streams, rest: { upbit: [], binance: [] }, userAgent: 'bench' },
    { ...context, signal },
  )
  const open = (protocol: Protocol, markets: string[]) =>
    openFeed({ protocol, door: doors[protocol.exchange], markets, sink }, context)
  open(upbitProtocol, marketsOf('KRW-', ''))
  open(binanceProtocol, marketsOf('', 'USDT'))
}

function openBare() {
  const codes = ['KRW-USDT', ...marketsOf('KRW-', '')]
  open(upbitWsUrl, [{ ticket: 'bare' }, { type: 'ticker', codes }])
  const params = marketsOf('', 'USDT').map(market => `${market.toLowerCase()}@miniTicker`)
  open(`${binanceWsUrl}/ws`, { method: 'SUBSCRIBE', params, id: 1 })
}

function open(address: string, subscription: object) {
  const socket = new WebSocket(address, PLAIN)
  socket.on('open', () => socket.send(JSON.stringify(subscription)))
  socket.on('message', message => {
    if (JSON.parse(message.toString()).id === undefined) count()
  })
}

function openCcxt() {
  const upbit = new ccxt.pro.upbit({
    urls: { api: { public: url, private: url, ws: upbitWsUrl } },
    options: { ws: { options: PLAIN } },
  })
  const binance = new ccxt.pro.binance({
    urls: { api: { public: `${url}/api/v3`, ws: { spot: `${binanceWsUrl}/ws` } } },
    options: { fetchMarkets: { types: ['spot'] }, fetchCurrencies: false, ws: { options: PLAIN } },
  })
  void watch(upbit, ['USDT/KRW', ...marketsOf('', '/KRW')])
  void watch(binance, marketsOf('', '/USDT'))
}

/** As ccxt's manual shows it. */
async function watch(exchange: Exchange, symbols: string[]) {
  await exchange.loadHttpProxyAgent()
  await exchange.loadMarkets()
  const handle = exchange.handleMessage.bind(exchange)
  exchange.handleMessage = (client, message) => {
    handle(client, message)
    if (message.id === undefined) count()
  }
  for (;;) await exchange.watchTickers(symbols)
}

if (kind === 'feeds') openFeeds()
else if (kind === 'ccxt') openCcxt()
else openBare()
