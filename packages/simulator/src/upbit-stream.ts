import type { Connection } from './connection.ts'
import { createWindowCounter } from './limits.ts'
import { isListed, isTrading, withFaultyPrice } from './market-state.ts'
import type { EpochMs, Market, Trade } from './types.ts'
import {
  readUpbitRequest,
  type UpbitFormat,
  type UpbitRequest,
  type UpbitSubscription,
} from './upbit-requests.ts'
import { shortened } from './upbit-short-names.ts'
import { createUpbitTicker, type UpbitObject, upbitTrade } from './upbit-ticker.ts'
import type { StreamSide, World } from './world.ts'

/** Upbit's WebSocket: frames for every connection as time passes. @see exchange-protocols §1 */
export interface UpbitStream extends StreamSide {
  /** Takes over an open connection. */
  open(connection: Connection): void
  /** One message of the client. */
  message(connection: Connection, text: string): void
  /** Anything else of the client that shows it is there, for example a ping frame. */
  heard(connection: Connection): void
  closed(connection: Connection): void
  /** Sends the ticker of a market again, because its state has changed. */
  announce(code: string): void
}

interface Client {
  subscriptions: readonly UpbitSubscription[]
  format: UpbitFormat
  heardAt: EpochMs
  statusAt: EpochMs
}

/** The streaming half of Upbit. @param settle sends what is due before a subscription takes effect, and gives the time */
export function createUpbitStream(world: World, settle: () => EpochMs): UpbitStream {
  const clients = new Map<Connection, Client>()
  const ticker = createUpbitTicker(world)
  const perSecond = createWindowCounter(1_000)
  const perMinute = createWindowCounter(60_000)

  const payloadOf = (type: string, market: Market, trade: Trade): UpbitObject | undefined => {
    const silenced = world.faults.find('silence', { exchange: 'upbit', market: market.code })
    if (silenced) {
      world.faults.spend(silenced)
      return undefined
    }
    if (type !== 'ticker' && type !== 'trade') return undefined
    const payload = type === 'ticker' ? ticker(market, trade) : upbitTrade(world, market, trade)
    return withFaultyPrice(world, market, payload, 'trade_price')
  }
  const broadcast = (type: string, market: Market, trade: Trade, to: readonly Connection[]): void => {
    const payload = payloadOf(type, market, trade)
    if (!payload) return
    const texts = new Map<UpbitFormat, string>()
    for (const connection of to) {
      const format = clients.get(connection)?.format ?? 'DEFAULT'
      const text = texts.get(format) ?? written({ ...payload, stream_type: 'REALTIME' }, format)
      texts.set(format, text)
      connection.stream(text, market.code)
    }
  }
  const sendSnapshots = (connection: Connection, client: Client, now: EpochMs): void => {
    for (const { type, codes, snapshot } of client.subscriptions) {
      for (const code of snapshot ? codes : []) {
        const market = world.markets.get('upbit', code)
        const last = market && isListed(world, market) && world.prices.lastTrade('upbit', code, now)
        const payload = market && last ? payloadOf(type, market, last) : undefined
        if (payload) connection.stream(written({ ...payload, stream_type: 'SNAPSHOT' }, client.format), code)
      }
    }
  }
  const isOverLimit = (connection: Connection, now: EpochMs): boolean => {
    const key = String(connection.number)
    const tooFast = perSecond.add(key, now) > 5
    return (perMinute.add(key, now) > 100 || tooFast) && world.limits
  }
  const answer = (connection: Connection, client: Client, request: UpbitRequest): void => {
    if (request.kind === 'ping') {
      client.statusAt = world.clock.now() + world.keepalive.upbitStatusMs
      connection.reply(STATUS)
      return
    }
    if (request.kind === 'error') {
      connection.reply(errorFrame(request.name, request.message))
      return
    }
    const now = settle()
    client.format = request.format
    if (request.kind === 'list') {
      connection.reply(listed(client, request.ticket))
      return
    }
    client.subscriptions = request.subscriptions
    sendSnapshots(connection, client, now)
  }
  return {
    open: connection =>
      void clients.set(connection, {
        subscriptions: [],
        format: 'DEFAULT',
        heardAt: world.clock.now(),
        statusAt: Number.POSITIVE_INFINITY,
      }),
    closed: connection => void clients.delete(connection),
    heard(connection) {
      const client = clients.get(connection)
      if (client) client.heardAt = world.clock.now()
    },
    message(connection, text) {
      const client = clients.get(connection)
      if (!client) return
      client.heardAt = world.clock.now()
      if (isOverLimit(connection, client.heardAt)) {
        connection.reply(errorFrame('TOO_MANY_REQUEST', '요청 수 제한을 초과했습니다.'))
      } else {
        answer(connection, client, readUpbitRequest(text))
      }
    },
    announce(code) {
      const market = world.markets.get('upbit', code)
      const last = market && world.prices.lastTrade('upbit', code, world.clock.now())
      if (market && last) broadcast('ticker', market, last, subscribers(clients, 'ticker').get(code) ?? [])
    },
    pump(from, to) {
      for (const [connection, client] of clients) keepAlive(world, connection, client)
      const due: { type: string; market: Market; trade: Trade; to: readonly Connection[] }[] = []
      for (const type of ['trade', 'ticker']) {
        for (const [code, connections] of subscribers(clients, type)) {
          const market = world.markets.get('upbit', code)
          if (!market || !isTrading(world, market)) continue
          for (const trade of world.prices.trades('upbit', code, from, to)) {
            due.push({ type, market, trade, to: connections })
          }
        }
      }
      due.sort((a, b) => a.trade.at - b.trade.at)
      for (const { type, market, trade, to: connections } of due) broadcast(type, market, trade, connections)
    },
  }
}

const STATUS = '{"status":"UP"}'

function keepAlive(world: World, connection: Connection, client: Client): void {
  const now = world.clock.now()
  const { upbitIdleMs, upbitStatusMs } = world.keepalive
  if (now >= client.statusAt) {
    client.statusAt = now + upbitStatusMs
    connection.reply(STATUS)
  }
  if (!connection.deaf && now - client.heardAt >= upbitIdleMs) connection.close(1000)
}

function subscribers(clients: ReadonlyMap<Connection, Client>, type: string): Map<string, Connection[]> {
  const byCode = new Map<string, Connection[]>()
  for (const [connection, client] of clients) {
    const codes = new Set<string>()
    for (const subscription of client.subscriptions) {
      if (subscription.type !== type || !subscription.realtime) continue
      for (const code of subscription.codes) codes.add(code)
    }
    for (const code of codes) {
      const known = byCode.get(code)
      if (known) known.push(connection)
      else byCode.set(code, [connection])
    }
  }
  return byCode
}

function written(payload: UpbitObject, format: UpbitFormat): string {
  const object = format.startsWith('SIMPLE') ? shortened(payload) : payload
  return JSON.stringify(format.endsWith('LIST') ? [object] : object)
}

function listed(client: Client, ticket: string): string {
  const entries = client.subscriptions.map(({ type, codes }) => ({ type, codes, level: 0 }))
  if (!client.format.startsWith('SIMPLE')) {
    return JSON.stringify({ method: 'LIST_SUBSCRIPTIONS', result: entries, ticket })
  }
  const short = entries.map(({ type, codes, level }) => ({ ty: type, cds: codes, lv: level }))
  return JSON.stringify({ mthd: 'LIST_SUBSCRIPTIONS', rslt: short, tckt: ticket })
}

function errorFrame(name: string, message: string): string {
  return JSON.stringify({ error: { name, message } })
}
