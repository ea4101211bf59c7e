import type { Ignored } from '../faults/fault.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs } from '../market/types.ts'
import type { Connection, ExchangeStream } from '../server/connection.ts'
import { createWindowCounter } from '../server/limits.ts'
import { subscribersByKey } from '../server/subscribers.ts'
import { newestPublished, publishedTrades } from './published.ts'
import { readSubscription, type UpbitFormat, type UpbitSubscription } from './subscription.ts'
import { tickerText, upbitTicker } from './ticker.ts'

/** Upbit's WebSocket. @param settle sends what is due before a subscription acts, and gives the time */
export function createUpbitStream(exchanges: SimulatedExchanges, settle: () => EpochMs): ExchangeStream {
  const { markets, faults } = exchanges
  const ignores = (what: Ignored) =>
    faults.find('ignore', { exchange: 'upbit' }, fault => fault.what === what)
  const clients = new Map<Connection, UpbitSubscription>()
  const isTooFast = createMessageLimit(exchanges)

  const subscribe = (connection: Connection, subscription: UpbitSubscription): void => {
    const now = settle()
    const isSecond = (clients.get(connection)?.codes.size ?? 0) > 0
    clients.set(connection, subscription)
    if (isSecond && ignores('resubscription')) return
    for (const code of subscription.codes) {
      const market = markets.listed('upbit', code)
      const last = market && newestPublished(exchanges, code, now)
      if (!market || !last) continue
      const ticker = upbitTicker(exchanges, market, last, now, 'SNAPSHOT')
      connection.stream(tickerText(ticker, subscription.format), code)
    }
  }
  return {
    open: connection => void clients.set(connection, { codes: new Set(), format: 'DEFAULT' }),
    closed: connection => void clients.delete(connection),
    message(connection, text) {
      const subscription = readSubscription(text)
      if (isTooFast(connection))
        connection.reply(errorFrame('TOO_MANY_REQUEST', '요청 수 제한을 초과했습니다.'))
      else if (!subscription) connection.reply(errorFrame('WRONG_FORMAT', 'Format이 맞지 않습니다.'))
      else subscribe(connection, ignores('format') ? { ...subscription, format: 'DEFAULT' } : subscription)
    },
    pump(from, to) {
      const byCode = subscribersByKey(clients, ({ codes }) => codes)
      const due = [...byCode].flatMap(([code, connections]) => {
        const market = markets.listed('upbit', code)
        if (!market) return []
        return publishedTrades(exchanges, code, from, to).map(trade => ({ ...trade, market, connections }))
      })
      due.sort((a, b) => a.publishedAt - b.publishedAt)
      for (const { market, trade, publishedAt, connections } of due) {
        const ticker = upbitTicker(exchanges, market, trade, publishedAt, 'REALTIME')
        const texts: { [F in UpbitFormat]?: string } = {}
        for (const connection of connections) {
          const { format = 'DEFAULT' } = clients.get(connection) ?? {}
          texts[format] ??= tickerText(ticker, format)
          connection.stream(texts[format], market.code)
        }
      }
    },
  }
}

/** Upbit allows 5 messages a second and 100 a minute on a connection. */
function createMessageLimit({ clock, limitFactor }: SimulatedExchanges) {
  const perSecond = createWindowCounter(1_000)
  const perMinute = createWindowCounter(60_000)
  return ({ number }: Connection): boolean => {
    const ofSecond = perSecond(String(number), clock.now())
    const ofMinute = perMinute(String(number), clock.now())
    return ofSecond > 5 * limitFactor || ofMinute > 100 * limitFactor
  }
}

function errorFrame(name: string, message: string): object {
  return { error: { name, message } }
}
