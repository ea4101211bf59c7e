import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { parseJson } from '../server/client-input.ts'
import type { Connection, ExchangeStream } from '../server/connection.ts'
import { createWindowCounter } from '../server/window-counter.ts'
import { newestPublished, publishedTrades } from './published-trades.ts'
import { tickerText, upbitTicker } from './ticker.ts'

/** Upbit cuts a connection this long after its last ping, without a close frame. */
const IDLE_MS = 60_000
/** It closes a connection this long after an error frame: between the 150 and 180 ms that were measured. */
const CLOSE_AFTER_ERROR_MS = 165

export function createUpbitStream(exchanges: SimulatedExchanges): ExchangeStream {
  const { listings, faults, clock, limitFactor, settle } = exchanges
  const sendsOnce = () => faults.find('snapshots-once', { exchange: 'upbit', at: clock.now() })
  const isRejected = (market: string) => faults.find('reject', { exchange: 'upbit', market, at: clock.now() })
  const perSecond = createWindowCounter(1_000)
  const perMinute = createWindowCounter(60_000)
  /** Upbit allows 5 messages a second and 100 a minute on a connection. */
  const isTooFast = ({ number }: Connection): boolean =>
    perSecond(String(number), clock.now()) > 5 * limitFactor ||
    perMinute(String(number), clock.now()) > 100 * limitFactor

  return {
    open(connection) {
      const keys = new Set<string>()
      let pingedAt = clock.now()
      let closesAt = Number.POSITIVE_INFINITY
      const fail = (name: string, message: string): void => {
        connection.reply({ error: { name, message } })
        closesAt = clock.now() + CLOSE_AFTER_ERROR_MS
      }
      const subscribe = (codes: ReadonlySet<string>): void => {
        const now = settle()
        const isSecond = keys.size > 0
        // A new subscription replaces the one before.
        keys.clear()
        for (const code of codes) keys.add(code)
        if (isSecond && sendsOnce()) return
        for (const market of codes) {
          const listing = listings.get('upbit', market)
          const last = listing && newestPublished(exchanges, market, now)
          if (!last) continue
          connection.stream(tickerText(upbitTicker(exchanges, market, last, now, 'SNAPSHOT')), market, now)
        }
      }
      return {
        connection,
        keys,
        textOf: tickerText,
        message(text) {
          const asked = readCodes(text)
          if (isTooFast(connection)) fail('TOO_MANY_REQUEST', '요청 수 제한을 초과했습니다.')
          else if (!asked) fail('WRONG_FORMAT', 'Format이 맞지 않습니다.')
          else if ([...asked].some(isRejected)) fail('INVALID_PARAM', '지원하지 않는 코드입니다.')
          else subscribe(asked)
        },
        pinged() {
          pingedAt = clock.now()
        },
        obey(at) {
          if (closesAt <= at) connection.close(1000)
          if (pingedAt + IDLE_MS * limitFactor <= at) connection.close()
        },
      }
    },
    due(market, from, to) {
      return publishedTrades(exchanges, market, from, to).map(({ trade, publishedAt: at }) => ({
        at,
        eventAt: trade.at,
        market,
        make: () => upbitTicker(exchanges, market, trade, at, 'REALTIME'),
      }))
    },
  }
}

/** Reads the codes of a ticket, and type objects of tickers; undefined for whatever else Upbit accepts. */
function readCodes(text: string): ReadonlySet<string> | undefined {
  const message = parseJson(text)
  if (!Array.isArray(message)) return undefined
  const parts: Readonly<Record<string, unknown>>[] = message.filter(part => part instanceof Object)
  const types = parts.filter(part => part.type !== undefined)
  const isKnown =
    types.length > 0 && types.every(({ type, codes }) => type === 'ticker' && Array.isArray(codes))
  const isDefault = parts.every(({ format = 'DEFAULT' }) => format === 'DEFAULT')
  if (!isKnown || !isDefault || !parts.some(part => part.ticket)) return undefined
  return new Set(types.flatMap(({ codes }) => (codes as unknown[]).map(String)))
}
