import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type LastFrame, lastMiniTicker } from '../binance/mini-ticker.ts'
import { Faults } from '../faults/faults.ts'
import { DEFAULT_COINS } from '../market/coins.ts'
import { createMarkets } from '../market/markets.ts'
import { createPrices } from '../market/prices.ts'
import type { RestRequest, SentFrame, SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs, Exchange, SimulatedCoin, SimulatorClock } from '../market/types.ts'
import { createRequestListener } from './requests.ts'
import { createSockets } from './sockets.ts'

/** How a simulator is started; everything has a working default. */
export interface SimulatorOptions {
  /** @default '127.0.0.1' */
  readonly host?: string
  /** @default 0, a free port */
  readonly port?: number
  /** The same seed gives the same prices. @default 'kimchi' */
  readonly seed?: string
  /** @default DEFAULT_COINS */
  readonly coins?: readonly SimulatedCoin[]
  /** Multiplies the number of trades of every market; prices of different speeds differ. @default 1 */
  readonly speed?: number
  /** @default the system's clock */
  readonly clock?: SimulatorClock
  /** How often due frames are sent by itself, in milliseconds; 0 leaves it to `pump()`. @default 20 */
  readonly pumpMs?: number
  /** Multiplies the exchanges' limits of requests, messages, connections and idle time; `false` for none. @default 1 */
  readonly limits?: number | false
  /** Called for every frame sent. */
  readonly onFrame?: (frame: SentFrame) => void
  /** Called for every REST request. */
  readonly onRequest?: (request: RestRequest) => void
}

/** A running simulator of both exchanges on one port. An interface, so that declarations elsewhere can name it. */
export interface Simulator extends Awaited<ReturnType<typeof start>> {}

/** Starts a simulator of both exchanges on one port and resolves when it listens. */
export function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  return start(options)
}

async function start(options: SimulatorOptions) {
  const { host = '127.0.0.1', port = 0, pumpMs = 20 } = options
  const exchanges = createExchanges(options, () => void sockets.pump())
  const { markets, prices, faults } = exchanges
  const sockets = createSockets(exchanges)
  const server = createServer(createRequestListener(exchanges))
  server.on('upgrade', sockets.upgrade)
  server.listen(port, host)
  await once(server, 'listening')
  const stopPump = pumpMs > 0 ? exchanges.clock.every(pumpMs, sockets.pump) : () => {}
  let closed: Promise<void> | undefined
  const authority = `${host}:${(server.address() as AddressInfo).port}`
  const [url, binanceWsUrl] = [`http://${authority}`, `ws://${authority}`]
  const upbitWsUrl = `${binanceWsUrl}/websocket/v1`
  return {
    /** `http://host:port` */
    url,
    /** The whole URL of Upbit's WebSocket. */
    upbitWsUrl,
    /** The part of Upbit's REST URLs before `/v1`. */
    upbitRestUrl: url,
    /** The part of Binance's WebSocket URLs before `/stream` or `/ws`. */
    binanceWsUrl,
    /** The part of Binance's REST URLs before `/api/v3`. */
    binanceRestUrl: url,
    /** The four URLs as the variables that an ingester reads. */
    env: {
      UPBIT_WS_URL: upbitWsUrl,
      UPBIT_REST_URL: url,
      BINANCE_WS_URL: binanceWsUrl,
      BINANCE_REST_URL: url,
    },
    prices,
    faults,
    /**
     * The newest frame that the exchange makes with an event time before an instant, received by anyone or not:
     * Upbit's last trade, Binance's last miniTicker by `E`. Price faults are left out.
     */
    lastFrame(exchange: Exchange, market: string, before: EpochMs): LastFrame | undefined {
      if (exchange === 'binance') return lastMiniTicker(exchanges, market, before)
      const last = prices.lastTrade('upbit', market, before)
      return last && { eventAt: last.at, price: last.price }
    },
    /** Number of open connections. */
    connections: sockets.count,
    /** Sends everything that is due until now; returns that instant. */
    pump: sockets.pump,
    /** Adds a coin's markets while running, or changes their listing. */
    list: markets.add,
    /** Takes a market from listings and streams; the returned function brings it back. */
    delist(market: string): () => void {
      sockets.pump()
      return markets.delist(market)
    },
    /** Closes the port and every connection. May be called more than once. */
    close(): Promise<void> {
      stopPump()
      sockets.closeAll()
      closed ??= new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      return closed
    },
  }
}

const systemClock: SimulatorClock = {
  now: () => Date.now(),
  every(ms, run) {
    const timer = setInterval(run, ms)
    return () => clearInterval(timer)
  },
}

function createExchanges(options: SimulatorOptions, settle: () => void): SimulatedExchanges {
  const { clock = systemClock, coins = DEFAULT_COINS, seed = 'kimchi', speed = 1, limits = 1 } = options
  const markets = createMarkets(coins, speed)
  const faults = new Faults(clock, settle)
  const prices = createPrices(seed, markets, faults)
  const limitFactor = limits === false ? Number.POSITIVE_INFINITY : limits
  const { onFrame = () => {}, onRequest = () => {} } = options
  return { clock, markets, prices, faults, limitFactor, onFrame, onRequest }
}
