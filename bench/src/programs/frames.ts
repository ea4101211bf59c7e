/** Receives frames of both exchanges in one way, and prints what one costs. */
import { LatestTicks } from '@kimchi/core'
import { binanceProtocol, openFeed, upbitProtocol } from '@kimchi/feeds'
import { systemClock } from '@kimchi/runtime'
import { syntheticCoins } from '@kimchi/simulator'
import ccxt, { type Exchange } from 'ccxt'
import { WebSocket } from 'ws'

const { kind, coins, warmUp, frames, url, upbitWsUrl, binanceWsUrl } = JSON.parse(process.argv[2] ?? '{}')
const bases = syntheticCoins(coins).flatMap(({ upbit, binance }) => (upbit && binance ? [upbit.base] : []))
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

function openOurs() {
  const latest = new LatestTicks()
  const log = { debug: () => {}, info: () => {}, warn: console.error, error: console.error }
  const shared = {
    onTick: (tick: Parameters<LatestTicks['record']>[0]) => {
      latest.record(tick)
      count()
    },
    onInterrupted: latest.interrupted.bind(latest),
    onTradable: latest.setTradable.bind(latest),
  }
  const feeds = [
    { protocol: upbitProtocol(upbitWsUrl), markets: bases.map(base => `KRW-${base}`) },
    { protocol: binanceProtocol(binanceWsUrl), markets: bases.map(base => `${base}USDT`) },
  ]
  for (const feed of feeds) openFeed({ ...shared, ...feed }, { clock: systemClock, random: Math.random, log })
}

function openBare(format: string) {
  const codes = ['KRW-USDT', ...bases.map(base => `KRW-${base}`)]
  open(upbitWsUrl, [{ ticket: 'bare' }, { type: 'ticker', codes }, { format }])
  const params = bases.map(base => `${base.toLowerCase()}usdt@miniTicker`)
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
  void watch(upbit, ['USDT/KRW', ...bases.map(base => `${base}/KRW`)])
  void watch(
    binance,
    bases.map(base => `${base}/USDT`),
  )
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

if (kind === 'ours') openOurs()
else if (kind === 'ccxt') openCcxt()
else openBare(kind)
