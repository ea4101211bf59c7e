import ccxt from 'ccxt'
import { WebSocket } from 'ws'
import { LatestTicks } from '../../packages/core/dist/index.js'
import { binanceProtocol, openFeed, upbitProtocol } from '../../packages/feeds/dist/index.js'
import { systemClock } from '../../packages/runtime/dist/index.js'

// A process of its own: takes in all frames in one way, and tells what they cost.
const [kind = '', wsUrl = '', restUrl = '', codes = '', warm = '', total = ''] = process.argv.slice(2)
const bases = codes.split(',')
const [first, last] = [Number(warm), Number(total)]
let frames = 0
/** @type {NodeJS.CpuUsage | undefined} */
let before

function count() {
  frames += 1
  if (frames === first) before = process.cpuUsage()
  if (frames !== last) return
  const { user, system } = process.cpuUsage(before)
  const rss = process.memoryUsage.rss()
  process.send?.({ cpuMicros: (user + system) / (last - first), rssMb: rss / 2 ** 20 }, () => process.exit(0))
}

/** @type {Record<string, () => void>} */
const CONTESTANTS = {
  bare: () => openBare('DEFAULT'),
  'bare-simple': () => openBare('SIMPLE'),
  ours: () => {
    const latest = new LatestTicks()
    const log = { debug: () => {}, info: () => {}, warn: console.error, error: console.error }
    const context = { clock: systemClock, random: Math.random, log }
    const shared = {
      /** @param {Parameters<LatestTicks['record']>[0]} tick */
      onTick: tick => {
        latest.record(tick)
        count()
      },
      onInterrupted: latest.interrupted.bind(latest),
      onTradable: latest.setTradable.bind(latest),
    }
    const upbit = upbitProtocol(`${wsUrl}/websocket/v1`)
    openFeed({ ...shared, protocol: upbit, markets: bases.map(base => `KRW-${base}`) }, context)
    const binance = binanceProtocol(wsUrl)
    openFeed({ ...shared, protocol: binance, markets: bases.map(base => `${base}USDT`) }, context)
  },
  ccxt: () => {
    const upbit = new ccxt.pro.upbit({
      urls: { api: { public: restUrl, private: restUrl, ws: `${wsUrl}/websocket/v1` } },
    })
    const binance = new ccxt.pro.binance({
      urls: { api: { public: `${restUrl}/api/v3`, ws: { spot: `${wsUrl}/ws` } } },
      options: { fetchMarkets: { types: ['spot'] }, fetchCurrencies: false },
    })
    void watch(upbit, ['USDT/KRW', ...bases.map(base => `${base}/KRW`)])
    void watch(
      binance,
      bases.map(base => `${base}/USDT`),
    )
  },
}
CONTESTANTS[kind]?.()
process.on('disconnect', () => process.exit(0))

/** @param {'DEFAULT' | 'SIMPLE'} format */
function openBare(format) {
  const codes = ['KRW-USDT', ...bases.map(base => `KRW-${base}`)]
  open(`${wsUrl}/websocket/v1`, [{ ticket: 'bare' }, { type: 'ticker', codes }, { format }])
  open(`${wsUrl}/ws`, { method: 'SUBSCRIBE', params: bases.map(base => `${base}@miniTicker`), id: 1 })
}

/**
 * @param {string} url
 * @param {object} subscription
 */
function open(url, subscription) {
  const socket = new WebSocket(url)
  socket.on('open', () => socket.send(JSON.stringify(subscription)))
  socket.on('message', message => {
    if (JSON.parse(message.toString()).id === undefined) count()
  })
}

/**
 * As ccxt's manual shows it.
 * @param {any} exchange
 * @param {string[]} symbols
 */
async function watch(exchange, symbols) {
  await exchange.loadHttpProxyAgent()
  await exchange.loadMarkets()
  const handle = exchange.handleMessage.bind(exchange)
  exchange.handleMessage = (/** @type {unknown} */ client, /** @type {any} */ message) => {
    handle(client, message)
    if (message.id === undefined) count()
  }
  for (;;) await exchange.watchTickers(symbols)
}
