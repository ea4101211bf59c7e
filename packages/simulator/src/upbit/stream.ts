import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { listedMarket } from '../market/states.ts'
import type { EpochMs, Market } from '../market/types.ts'
import type { Connection, ExchangeStream } from '../server/connection.ts'
import { createWindowCounter } from '../server/limits.ts'
import { subscribersByKey } from '../server/subscribers.ts'
import { newestPublished, type PublishedTrade, publishedTrades } from './published.ts'
import { readSubscription, type UpbitFormat, type UpbitSubscription } from './subscription.ts'
import { upbitTicker, withShortNames } from './ticker.ts'

/**
 * Upbit's WebSocket.
 * @param settle sends what is due before a subscription takes effect, and gives the time
 * @see docs/exchanges.md#upbit-websocket
 */
export function createUpbitStream(exchanges: SimulatedExchanges, settle: () => EpochMs): ExchangeStream {
  const clients = new Map<Connection, UpbitSubscription>()
  const isTooFast = createMessageLimit(exchanges)

  const broadcast = (market: Market, { trade, publishedAt }: PublishedTrade, to: readonly Connection[]) => {
    const texts: { [F in UpbitFormat]?: string } = {}
    const ticker = upbitTicker(exchanges, market, trade, publishedAt, 'REALTIME')
    for (const connection of to) {
      const { format = 'DEFAULT' } = clients.get(connection) ?? {}
      texts[format] ??= written(ticker, format)
      connection.stream(texts[format], market.code)
    }
  }
  const subscribe = (connection: Connection, subscription: UpbitSubscription): void => {
    const now = settle()
    clients.set(connection, subscription)
    for (const code of subscription.codes) {
      const market = listedMarket(exchanges, 'upbit', code)
      const last = market && newestPublished(exchanges, code, now)
      if (!market || !last) continue
      const ticker = upbitTicker(exchanges, market, last, now, 'SNAPSHOT')
      connection.stream(written(ticker, subscription.format), code)
    }
    const error = exchanges.faults.find('error', { exchange: 'upbit' })
    if (!error) return
    connection.reply(errorFrame(error.fault.name ?? 'INTERNAL_ERROR', 'A fault asked for this.'))
    exchanges.faults.spend(error)
  }
  return {
    open: connection => void clients.set(connection, { codes: new Set(), format: 'DEFAULT' }),
    closed: connection => void clients.delete(connection),
    message(connection, text) {
      const subscription = readSubscription(text)
      if (isTooFast(connection))
        connection.reply(errorFrame('TOO_MANY_REQUEST', '요청 수 제한을 초과했습니다.'))
      else if (!subscription) connection.reply(errorFrame('WRONG_FORMAT', 'Format이 맞지 않습니다.'))
      else subscribe(connection, subscription)
    },
    pump(from, to) {
      const due: { market: Market; published: PublishedTrade; connections: readonly Connection[] }[] = []
      for (const [code, connections] of subscribersByKey(clients, ({ codes }) => codes)) {
        const market = listedMarket(exchanges, 'upbit', code)
        if (!market) continue
        for (const published of publishedTrades(exchanges, code, from, to)) {
          due.push({ market, published, connections })
        }
      }
      due.sort((a, b) => a.published.publishedAt - b.published.publishedAt)
      for (const { market, published, connections } of due) broadcast(market, published, connections)
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

function written(ticker: object, format: UpbitFormat): string {
  return JSON.stringify(format === 'SIMPLE' ? withShortNames(ticker) : ticker)
}

function errorFrame(name: string, message: string): object {
  return { error: { name, message } }
}
