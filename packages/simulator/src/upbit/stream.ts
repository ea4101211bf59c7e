import type { FaultOf } from '../faults/fault.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs } from '../market/types.ts'
import { type Connection, type ExchangeStream, listenersByKey } from '../server/connection.ts'
import { createWindowCounter, parseJson } from '../server/wire.ts'
import { newestPublished, publishedTrades } from './published.ts'
import { tickerText, type UpbitFormat, upbitTicker } from './ticker.ts'

/** Upbit cuts a connection this long after its last ping, without a close frame. */
const IDLE_MS = 60_000
/** It closes a connection this long after an error frame: between the 150 and 180 ms that were measured. */
const CLOSE_AFTER_ERROR_MS = 165

/** A client, and what it listens to; a new subscription replaces the one before. */
interface Client extends Subscription {
  readonly connection: Connection
  pingedAt: EpochMs
  /** Set by an error frame. */
  closesAt?: EpochMs
}

/** Upbit's WebSocket. @param settle sends what is due before a subscription acts, and gives the time */
export function createUpbitStream(exchanges: SimulatedExchanges, settle: () => EpochMs): ExchangeStream {
  const { listings, faults, clock, limitFactor } = exchanges
  const ignores = (what: FaultOf<'ignore'>['what']) =>
    faults.find('ignore', { exchange: 'upbit', at: clock.now() }, ({ fault }) => fault.what === what)
  const isRejected = (market: string) => faults.find('reject', { exchange: 'upbit', market, at: clock.now() })
  const clients = new Set<Client>()
  const isTooFast = createMessageLimit(exchanges)

  const fail = (client: Client, name: string, message: string): void => {
    client.connection.reply({ error: { name, message } })
    client.closesAt = clock.now() + CLOSE_AFTER_ERROR_MS
  }

  const subscribe = (client: Client, { codes, format }: Subscription): void => {
    const now = settle()
    const isSecond = client.codes.size > 0
    Object.assign(client, { codes, format: ignores('format') ? 'DEFAULT' : format })
    if (isSecond && ignores('resubscription')) return
    for (const market of codes) {
      const listing = listings.get('upbit', market)
      const last = listing && newestPublished(exchanges, market, now)
      if (!listing || !last) continue
      const ticker = upbitTicker(exchanges, listing, last, now, 'SNAPSHOT')
      client.connection.stream(tickerText(ticker, client.format), market, now)
    }
  }
  return {
    open(connection) {
      const client: Client = { connection, codes: new Set(), format: 'DEFAULT', pingedAt: clock.now() }
      clients.add(client)
      return {
        message(text) {
          const subscription = readSubscription(text)
          if (isTooFast(connection)) fail(client, 'TOO_MANY_REQUEST', '요청 수 제한을 초과했습니다.')
          else if (!subscription) fail(client, 'WRONG_FORMAT', 'Format이 맞지 않습니다.')
          else if ([...subscription.codes].some(isRejected))
            fail(client, 'INVALID_PARAM', '지원하지 않는 코드입니다.')
          else subscribe(client, subscription)
        },
        pinged() {
          client.pingedAt = clock.now()
        },
        closed: () => clients.delete(client),
      }
    },
    pump(from, to) {
      const due = [...listenersByKey(clients, ({ codes }) => codes)].flatMap(([market, listeners]) => {
        const listing = listings.get('upbit', market)
        if (!listing) return []
        return publishedTrades(exchanges, market, from, to).map(trade => ({ ...trade, listing, listeners }))
      })
      due.sort((a, b) => a.publishedAt - b.publishedAt)
      for (const { listing, trade, publishedAt, listeners } of due) {
        const ticker = upbitTicker(exchanges, listing, trade, publishedAt, 'REALTIME')
        for (const { connection, format } of listeners) {
          connection.stream(tickerText(ticker, format), listing.market, publishedAt)
        }
      }
      for (const { connection, closesAt, pingedAt } of clients) {
        if (closesAt !== undefined && closesAt <= to) connection.close(1000)
        if (pingedAt + IDLE_MS * limitFactor <= to) connection.close()
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

/** What a client asks for. */
interface Subscription {
  readonly codes: ReadonlySet<string>
  readonly format: UpbitFormat
}

/** Reads a ticket, type objects of tickers, and perhaps a format; undefined for whatever else Upbit accepts. */
function readSubscription(text: string): Subscription | undefined {
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
