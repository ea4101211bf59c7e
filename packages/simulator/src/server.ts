import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DEFAULT_COINS } from './coins.ts'
import type { SentFrame } from './connection.ts'
import { createDayStats } from './day-stats.ts'
import { createFaultBoard } from './faults.ts'
import { createMarkets } from './markets.ts'
import { createPrices } from './prices.ts'
import { createRequestListener } from './requests.ts'
import type { Simulator, SimulatorOptions } from './simulator.ts'
import { createSockets, type Sockets } from './sockets.ts'
import type { SimulatorClock } from './types.ts'
import type { World } from './world.ts'

/** Starts a simulator of both exchanges on one port and resolves when it listens. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', port = 0, record = false } = options
  const frames: SentFrame[] = []
  const world = createWorld(options)
  const sockets = createSockets(world, frame => {
    if (record) frames.push(frame)
    options.onFrame?.(frame)
  })
  const server = createServer(createRequestListener(world))
  server.on('upgrade', sockets.upgrade)
  await listen(server, port, host)
  const { pumpMs = 20 } = options
  const stopPump = pumpMs > 0 ? world.clock.every(pumpMs, sockets.pump) : () => {}
  let closed: Promise<void> | undefined
  return {
    ...urlsOf(server),
    prices: world.prices,
    faults: world.faults,
    frames,
    connections: sockets.count,
    pump: sockets.pump,
    list: coin => world.markets.add(coin),
    delist: market => world.faults.set({ kind: 'delist', exchange: 'both', market }),
    close: () => {
      closed ??= closeAll(server, sockets, stopPump)
      return closed
    },
  }
}

/** The system's clock and timers. */
export const systemClock: SimulatorClock = {
  now: () => Date.now(),
  every(ms, run) {
    const timer = setInterval(run, ms)
    return () => clearInterval(timer)
  },
}

function createWorld(options: SimulatorOptions): World {
  const { clock = systemClock, coins = DEFAULT_COINS, seed = 'kimchi', speed = 1, limits = true } = options
  const markets = createMarkets(coins)
  const prices = createPrices(seed, markets, speed)
  const lastConnection = { number: 0 }
  const keepalive = {
    binancePingMs: 20_000,
    binancePongMs: 60_000,
    maxConnectionMs: options.maxConnectionMs ?? 86_400_000,
    upbitIdleMs: 120_000,
    upbitStatusMs: 10_000,
    ...options.keepalive,
  }
  const faults = createFaultBoard(clock, () => lastConnection.number)
  return {
    clock,
    markets,
    prices,
    dayStats: createDayStats(prices),
    faults,
    keepalive,
    limits,
    lastConnection,
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

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function closeAll(server: Server, sockets: Sockets, stopPump: () => void): Promise<void> {
  stopPump()
  sockets.closeAll()
  return new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
