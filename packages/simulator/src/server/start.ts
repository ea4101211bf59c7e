import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type LastFrame, lastMiniTicker } from '../binance/mini-ticker.ts'
import { createExchanges, type SimulatorOptions } from '../market/simulated-exchanges.ts'
import type { EpochMs, Exchange } from '../market/types.ts'
import { createAnswer, createRequestListener } from './requests.ts'
import { createSockets } from './sockets.ts'

/** A running simulator of both exchanges on one port. An interface, so that declarations elsewhere can name it. */
export interface Simulator extends Awaited<ReturnType<typeof startSimulator>> {}

/** Both exchanges in memory. An interface, so that declarations elsewhere can name it. */
export interface MemorySimulator extends ReturnType<typeof createSimulator> {}

/** Both exchanges without a port: the caller carries requests and frames, and calls `pump()`. */
export function createSimulator(options: SimulatorOptions = {}) {
  const exchanges = createExchanges(options, () => sockets.pump())
  const { listings, prices, faults } = exchanges
  const sockets = createSockets(exchanges)
  return {
    sockets,
    /** Answers a REST request as the port does. */
    answer: createAnswer(exchanges),
    prices,
    faults,
    /**
     * The newest frame that the exchange makes with an event time before an instant, received by anyone or not:
     * Upbit's last trade, Binance's last miniTicker by `E`. Faults of frames are left out.
     */
    lastFrame(exchange: Exchange, market: string, before: EpochMs): LastFrame | undefined {
      if (exchange === 'binance') return lastMiniTicker(exchanges, market, before)
      return prices.lastTrade('upbit', market, before)
    },
    /** Sends everything that is due until now; returns that instant. */
    pump: sockets.pump,
    /** Adds a coin's listings while running, or changes them. */
    list: listings.add,
    /**
     * Takes a market from the lists: it trades no more, and the frames of what it has traded still come. The returned
     * function brings it back.
     */
    delist(market: string): () => void {
      const exchange = market.startsWith('KRW-') ? 'upbit' : 'binance'
      const trade = faults.set({ kind: 'outage', exchange, market })
      const list = listings.delist(market)
      return () => {
        list()
        trade()
      }
    },
  }
}

/** Starts a simulator of both exchanges on one port and resolves when it listens. */
export async function startSimulator(options: SimulatorOptions = {}) {
  const { host = '127.0.0.1', port = 0, pumpMs = 20 } = options
  const { sockets, ...simulated } = createSimulator(options)
  const server = createServer(createRequestListener(simulated.answer))
  server.on('upgrade', sockets.upgrade)
  server.listen(port, host)
  await once(server, 'listening')
  const pumping = pumpMs > 0 ? setInterval(sockets.pump, pumpMs) : undefined
  let closed: Promise<void> | undefined
  const authority = `${host}:${(server.address() as AddressInfo).port}`
  const url = `http://${authority}`
  return {
    /** `http://host:port`, of both exchanges' REST. */
    url,
    /** The exchanges' URLs as the variables that an ingester reads. */
    env: {
      UPBIT_WS_URL: `ws://${authority}/websocket/v1`,
      UPBIT_REST_URL: url,
      BINANCE_WS_URL: `ws://${authority}`,
      BINANCE_REST_URL: url,
    },
    ...simulated,
    connections: sockets.count,
    /** Closes the port and every connection. May be called more than once. */
    close(): Promise<void> {
      clearInterval(pumping)
      sockets.closeAll()
      closed ??= new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      return closed
    },
  }
}
