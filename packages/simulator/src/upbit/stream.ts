import { withFaultyPrice } from '../faults/faulty-price.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { listedMarket } from '../market/states.ts'
import type { EpochMs, Market, Trade } from '../market/types.ts'
import type { Connection, ExchangeStream } from '../server/connection.ts'
import { createWindowCounter } from '../server/limits.ts'
import { readSubscription, type UpbitFormat, type UpbitSubscription } from './subscription.ts'
import { upbitTicker, withShortNames } from './ticker.ts'

/**
 * Upbit's WebSocket.
 * @param settle sends what is due before a subscription takes effect, and gives the time
 * @see docs/exchanges.md#upbit-websocket
 */
export function createUpbitStream(exchanges: SimulatedExchanges, settle: () => EpochMs): ExchangeStream {
  const { clock, prices, faults } = exchanges
  const clients = new Map<Connection, UpbitSubscription>()
  const isTooFast = createMessageLimit(exchanges)

  const broadcast = (market: Market, trade: Trade, to: readonly Connection[]): void => {
    const texts: { [F in UpbitFormat]?: string } = {}
    const ticker = tickerOf(exchanges, market, trade)
    for (const connection of to) {
      const { format = 'DEFAULT' } = clients.get(connection) ?? {}
      texts[format] ??= written({ ...ticker, stream_type: 'REALTIME' }, format)
      connection.stream(texts[format], market.code)
    }
  }
  const sendSnapshots = (
    connection: Connection,
    { codes, format }: UpbitSubscription,
    now: EpochMs,
  ): void => {
    for (const code of codes) {
      const market = listedMarket(exchanges, 'upbit', code)
      const last = market && prices.lastTrade('upbit', code, now)
      if (!market || !last) continue
      const ticker = { ...tickerOf(exchanges, market, last), stream_type: 'SNAPSHOT' }
      connection.stream(written(ticker, format), code)
    }
  }
  faults.onChange((_change, { fault }) => {
    const market = fault.kind === 'halt' && fault.market && listedMarket(exchanges, 'upbit', fault.market)
    const last = market && prices.lastTrade('upbit', market.code, clock.now())
    if (market && last) broadcast(market, last, subscribers(clients).get(market.code) ?? [])
  })
  return {
    open: connection => void clients.set(connection, { codes: new Set(), format: 'DEFAULT' }),
    closed: connection => void clients.delete(connection),
    message(connection, text) {
      const subscription = readSubscription(text)
      if (isTooFast(connection))
        connection.reply(errorFrame('TOO_MANY_REQUEST', '요청 수 제한을 초과했습니다.'))
      else if (!subscription) connection.reply(errorFrame('WRONG_FORMAT', 'Format이 맞지 않습니다.'))
      else {
        const now = settle()
        clients.set(connection, subscription)
        sendSnapshots(connection, subscription, now)
      }
    },
    pump(from, to) {
      const due: { market: Market; trade: Trade; connections: readonly Connection[] }[] = []
      for (const [code, connections] of subscribers(clients)) {
        const market = listedMarket(exchanges, 'upbit', code)
        if (!market) continue
        for (const trade of prices.trades('upbit', code, from, to)) due.push({ market, trade, connections })
      }
      due.sort((a, b) => a.trade.at - b.trade.at)
      for (const { market, trade, connections } of due) broadcast(market, trade, connections)
    },
  }
}

/** Upbit allows 5 messages a second and 100 a minute on a connection. */
function createMessageLimit({ clock, limitFactor }: SimulatedExchanges) {
  const perSecond = createWindowCounter(1_000)
  const perMinute = createWindowCounter(60_000)
  return ({ number }: Connection): boolean => {
    const ofSecond = perSecond.add(String(number), clock.now())
    const ofMinute = perMinute.add(String(number), clock.now())
    return ofSecond > 5 * limitFactor || ofMinute > 100 * limitFactor
  }
}

function subscribers(clients: ReadonlyMap<Connection, UpbitSubscription>): Map<string, Connection[]> {
  const byCode = new Map<string, Connection[]>()
  for (const [connection, { codes }] of clients) {
    for (const code of codes) {
      const known = byCode.get(code)
      if (known) known.push(connection)
      else byCode.set(code, [connection])
    }
  }
  return byCode
}

function tickerOf(exchanges: SimulatedExchanges, market: Market, trade: Trade) {
  return withFaultyPrice(exchanges, market, upbitTicker(exchanges, market, trade), 'trade_price')
}

function written(ticker: object, format: UpbitFormat): string {
  return JSON.stringify(format === 'SIMPLE' ? withShortNames(ticker) : ticker)
}

function errorFrame(name: string, message: string): object {
  return { error: { name, message } }
}
