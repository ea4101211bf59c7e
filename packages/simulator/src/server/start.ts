import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { lastMiniTicker } from '../binance/mini-ticker.ts'
import { createFaultBoard, type FaultBoard, type Faults } from '../faults/board.ts'
import { DEFAULT_COINS } from '../market/coins.ts'
import { createMarkets } from '../market/markets.ts'
import { createPrices } from '../market/prices.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { SimulatorClock } from '../market/types.ts'
import { createRequestListener } from './requests.ts'
import type { Simulator, SimulatorOptions } from './simulator.ts'
import { createSockets, type Sockets } from './sockets.ts'

/** Starts a simulator of both exchanges on one port and resolves when it listens. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', port = 0, pumpMs = 20, onFrame = () => {}, onRequest = () => {} } = options
  const connections = { count: 0 }
  const exchanges = createExchanges(options, () => connections.count)
  const sockets = createSockets(exchanges, connections, onFrame)
  const faults = settled(exchanges.faults, sockets.pump)
  const server = createServer(createRequestListener(exchanges, faults, onRequest))
  server.on('upgrade', sockets.upgrade)
  server.listen(port, host)
  await once(server, 'listening')
  const stopPump = pumpMs > 0 ? exchanges.clock.every(pumpMs, sockets.pump) : () => {}
  let closed: Promise<void> | undefined
  return {
    ...urlsOf(server),
    prices: exchanges.prices,
    faults,
    lastFrame(exchange, market, before) {
      if (exchange === 'binance') return lastMiniTicker(exchanges, market, before)
      const last = exchanges.prices.lastTrade('upbit', market, before)
      return last && { eventAt: last.at, price: last.price }
    },
    connections: sockets.count,
    pump: sockets.pump,
    list: exchanges.markets.add,
    delist: market => faults.set({ kind: 'delist', exchange: 'both', market }),
    close: () => {
      closed ??= closeAll(server, sockets, stopPump)
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

function createExchanges(options: SimulatorOptions, newestConnection: () => number): SimulatedExchanges {
  const { clock = systemClock, coins = DEFAULT_COINS, seed = 'kimchi', speed = 1, limits = 1 } = options
  const markets = createMarkets(coins, speed)
  const faults = createFaultBoard(clock, newestConnection)
  const prices = createPrices(seed, markets, faults.timeline.pausedSince)
  const limitFactor = limits === false ? Number.POSITIVE_INFINITY : limits
  return { clock, markets, prices, faults, limitFactor }
}

/** The same faults, but what was due before a change is sent before it. */
function settled(board: FaultBoard, pump: () => unknown): Faults {
  return {
    set(fault) {
      pump()
      const undo = board.set(fault)
      return () => {
        pump()
        undo()
      }
    },
    list: board.list,
    clear(id) {
      pump()
      return board.clear(id)
    },
  }
}

function urlsOf(server: Server) {
  const { address, port, family } = server.address() as AddressInfo
  const authority = family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`
  return {
    url: `http://${authority}`,
    upbitWsUrl: `ws://${authority}/websocket/v1`,
    upbitRestUrl: `http://${authority}`,
    binanceWsUrl: `ws://${authority}`,
    binanceRestUrl: `http://${authority}`,
  }
}

function closeAll(server: Server, sockets: Sockets, stopPump: () => void): Promise<void> {
  stopPump()
  sockets.closeAll()
  return new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
