import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type EpochMs, type Exchange, MINUTE_MS, minuteOf, minuteStart } from '@kimchi/core'
import type { Simulator } from '@kimchi/simulator'
import type { Test } from 'tap'
import { type Outage, type World, worldOf } from './world.ts'

/** One REST request as it reached the exchanges. */
export interface GateRequest {
  readonly exchange: Exchange
  readonly path: string
  /** The market of a candle request, else ''. */
  readonly market: string
}

/** What a test puts in the place of an exchange's answer. */
export interface GateAnswer {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Both exchanges' REST interfaces on one port, with everything asked written down. */
export interface RestGate {
  readonly url: string
  readonly requests: GateRequest[]
  /** Requests for candles of an exchange. */
  candleRequests(exchange: Exchange): GateRequest[]
  /** Stretches without trades in the candles. @default none */
  outages: readonly Outage[]
  /** The time of prices that are made here. @default the system's */
  now: () => EpochMs
  /** The part of Binance's outages for which it writes no candle at all. @default none */
  missing: readonly Outage[]
  /** Decides about each request: an answer of the test's own, 'hang', or undefined for the true one. */
  intercept: (request: GateRequest) => GateAnswer | 'hang' | undefined
}

/**
 * REST of a running simulator that counts what is asked. The simulator never alters the past, so candles with the holes of an outage are
 * made here, from the same trades: none on Upbit, rows without volume (or, where `missing`, none) on Binance.
 */
export async function openRestGate(t: Test, simulator: Simulator): Promise<RestGate> {
  const server = createServer((request, response) => {
    answer(request, response).catch(thrown => response.writeHead(500).end(String(thrown)))
  })
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', simulator.url)
    const exchange = url.pathname.startsWith('/v1/') ? 'upbit' : 'binance'
    const isCandles = /candles|klines/.test(url.pathname)
    const market = url.searchParams.get('market') ?? url.searchParams.get('symbol') ?? ''
    const asked = { exchange, path: url.pathname, market: isCandles ? market : '' } as const
    gate.requests.push(asked)
    const own = gate.intercept(asked)
    if (own === 'hang') return
    if (own !== undefined) return void response.writeHead(own.status, { ...own.headers }).end(own.body)
    if (isCandles && gate.outages.length > 0) {
      const world = worldOf(simulator.prices, gate.outages)
      const rows = exchange === 'upbit' ? upbitRows(world, url) : binanceRows(world, url, gate.missing)
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows))
    }
    if (url.pathname === '/api/v3/ticker/price' && gate.outages.length > 0) {
      const rows = priceRows(worldOf(simulator.prices, gate.outages), url, gate.now())
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows))
    }
    const passed = await fetch(url)
    const wait = passed.headers.get('retry-after')
    response.writeHead(passed.status, wait === null ? {} : { 'retry-after': wait }).end(await passed.text())
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const gate: RestGate = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    candleRequests: exchange =>
      gate.requests.filter(request => request.exchange === exchange && request.market !== ''),
    outages: [],
    now: Date.now,
    missing: [],
    intercept: () => undefined,
  }
  return gate
}

/** How far back candles are looked for. */
const FARTHEST_MINUTES = 3_000

function upbitRows(world: World, url: URL): object[] {
  const market = url.searchParams.get('market') ?? ''
  const before = minuteOf(Date.parse(url.searchParams.get('to') ?? ''))
  const count = Math.min(200, Number(url.searchParams.get('count') ?? 1))
  const rows: object[] = []
  for (let open = before - 1; rows.length < count && open > before - FARTHEST_MINUTES; open--) {
    const candle = world.candle('upbit', market, open)
    if (candle === undefined) continue
    rows.push({
      market,
      candle_date_time_utc: new Date(minuteStart(open)).toISOString().slice(0, 19),
      opening_price: candle.open,
      high_price: candle.high,
      low_price: candle.low,
      trade_price: candle.close,
      candle_acc_trade_volume: candle.volume,
      unit: 1,
    })
  }
  return rows
}

function binanceRows(world: World, url: URL, missing: readonly Outage[]): unknown[][] {
  const market = url.searchParams.get('symbol') ?? ''
  const start = Math.ceil(Number(url.searchParams.get('startTime')) / MINUTE_MS)
  const end = minuteOf(Number(url.searchParams.get('endTime')))
  const limit = Math.min(1_000, Number(url.searchParams.get('limit') ?? 500))
  const rows: unknown[][] = []
  for (let open = start; open <= end && rows.length < limit; open++) {
    const at = minuteStart(open)
    if (missing.some(({ from, to }) => at >= from && at + MINUTE_MS <= to)) continue
    const last = world.lastTrade('binance', market, at)?.price ?? 1
    const candle = world.candle('binance', market, open) ?? {
      open: last,
      high: last,
      low: last,
      close: last,
      volume: 0,
    }
    const prices = [candle.open, candle.high, candle.low, candle.close].map(price => price.toFixed(8))
    rows.push([at, ...prices, candle.volume.toFixed(8), at + MINUTE_MS - 1, '0', 1, '0', '0', '0'])
  }
  return rows
}

function priceRows(world: World, url: URL, now: EpochMs): object[] {
  const symbols = JSON.parse(url.searchParams.get('symbols') ?? '[]') as string[]
  return symbols.flatMap(symbol => {
    const last = world.lastTrade('binance', symbol, now)
    return last === undefined ? [] : [{ symbol, price: last.price.toFixed(8) }]
  })
}
