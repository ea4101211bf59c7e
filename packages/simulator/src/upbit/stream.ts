import type { FaultOf } from '../faults/fault.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs } from '../market/types.ts'
import { type Connection, type ExchangeStream, subscribersByKey } from '../server/connection.ts'
import { createWindowCounter, parseJson } from '../server/wire.ts'
import { newestPublished, publishedTrades } from './published.ts'
import { tickerText, type UpbitFormat, upbitTicker } from './ticker.ts'

/** Upbit cuts a connection this long after its last ping, without a close frame. */
const IDLE_MS = 60_000
/** It closes a connection this long after an error frame: between the 150 and 180 ms that were measured. */
const CLOSE_AFTER_ERROR_MS = 165

/** Upbit's WebSocket. @param settle sends what is due before a subscription acts, and gives the time */
export function createUpbitStream(exchanges: SimulatedExchanges, settle: () => EpochMs): ExchangeStream {
  const { markets, faults, clock, limitFactor } = exchanges
  const ignores = (what: FaultOf<'ignore'>['what']) =>
    faults.find('ignore', { exchange: 'upbit', at: clock.now() }, ({ fault }) => fault.what === what)
  const clients = new Map<Connection, UpbitSubscription>()
  const pingedAt = new Map<Connection, EpochMs>()
  const closesAt = new Map<Connection, EpochMs>()
  const isTooFast = createMessageLimit(exchanges)

  const fail = (connection: Connection, name: string, message: string): void => {
    connection.reply({ error: { name, message } })
    closesAt.set(connection, clock.now() + CLOSE_AFTER_ERROR_MS)
  }

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
      connection.stream(tickerText(ticker, subscription.format), code, now)
    }
  }
  return {
    open(connection) {
      clients.set(connection, { codes: new Set(), format: 'DEFAULT' })
      pingedAt.set(connection, clock.now())
    },
    closed(connection) {
      for (const map of [clients, pingedAt, closesAt]) map.delete(connection)
    },
    pinged: connection => void pingedAt.set(connection, clock.now()),
    message(connection, text) {
      const subscription = readSubscription(text)
      const isRejected = (code: string) =>
        faults.find('reject', { exchange: 'upbit', market: code, at: clock.now() })
      if (isTooFast(connection)) fail(connection, 'TOO_MANY_REQUEST', '요청 수 제한을 초과했습니다.')
      else if (!subscription) fail(connection, 'WRONG_FORMAT', 'Format이 맞지 않습니다.')
      else if ([...subscription.codes].some(isRejected))
        fail(connection, 'INVALID_PARAM', '지원하지 않는 코드입니다.')
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
        for (const connection of connections) {
          const { format = 'DEFAULT' } = clients.get(connection) ?? {}
          connection.stream(tickerText(ticker, format), market.code, publishedAt)
        }
      }
      for (const [connection, at] of closesAt) if (at <= to) connection.close(1000)
      for (const [connection, at] of pingedAt) if (at + IDLE_MS * limitFactor <= to) connection.close()
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

/** What a connection listens to; a new subscription replaces the one before. */
interface UpbitSubscription {
  readonly codes: ReadonlySet<string>
  readonly format: UpbitFormat
}

/** Reads a ticket, type objects of tickers, and perhaps a format; undefined for whatever else Upbit accepts. */
function readSubscription(text: string): UpbitSubscription | undefined {
  const message = parseJson(text)
  if (!Array.isArray(message)) return undefined
  const parts: Readonly<Record<string, unknown>>[] = message.filter(part => part instanceof Object)
  const format = parts.find(part => part.format !== undefined)?.format ?? 'DEFAULT'
  const types = parts.filter(part => part.type !== undefined)
  const isKnown =
    types.length > 0 && types.every(({ type, codes }) => type === 'ticker' && Array.isArray(codes))
  if (!isKnown || !parts.some(part => part.ticket) || (format !== 'DEFAULT' && format !== 'SIMPLE')) {
    return undefined
  }
  return { codes: new Set(types.flatMap(({ codes }) => (codes as unknown[]).map(String))), format }
}
