import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs } from '../market/types.ts'
import { type Connection, type ExchangeStream, listenersByKey } from '../server/connection.ts'
import { createWindowCounter, parseJson } from '../server/wire.ts'
import { createMiniTickers } from './mini-ticker.ts'

interface Client {
  readonly connection: Connection
  readonly streams: Set<string>
  /** Whether frames name their stream. */
  readonly combined: boolean
}

const MAX_STREAMS = 1_024
const MAX_MESSAGES_PER_SECOND = 5

/** Binance's spot streams. @param settle sends what is due before a subscription takes effect */
export function createBinanceStream(exchanges: SimulatedExchanges, settle: () => EpochMs): ExchangeStream {
  const { clock, limitFactor, faults } = exchanges
  const clients = new Set<Client>()
  const perSecond = createWindowCounter(1_000)
  const tickers = createMiniTickers(exchanges)

  const announceShutdown = (at: EpochMs): void => {
    const payload = { e: 'serverShutdown', E: at }
    for (const { connection, combined } of clients) {
      connection.reply(combined ? { stream: '!serverShutdown', data: payload } : payload)
    }
  }
  return {
    open(connection, { pathname, searchParams }) {
      // Streams may be named in the address of a combined connection only.
      const streams = new Set(searchParams.get('streams')?.split('/'))
      const client: Client = { connection, streams, combined: pathname.startsWith('/stream') }
      clients.add(client)
      return {
        message(text) {
          const count = perSecond(String(connection.number), clock.now())
          if (count > MAX_MESSAGES_PER_SECOND * limitFactor) connection.close(1008, 'Too many requests')
          else {
            settle()
            connection.reply(obey(client, text))
          }
        },
        closed: () => clients.delete(client),
      }
    },
    pump(from, to) {
      const byStream = listenersByKey(clients, ({ streams }) => streams)
      const due = [...byStream.keys()].flatMap(stream => tickers.due(stream, from, to))
      due.sort((a, b) => a.eventAt - b.eventAt)
      for (const frame of due) {
        const { stream, listing } = frame
        const raw = JSON.stringify(tickers.payload(frame))
        const wrapped = `{"stream":${JSON.stringify(stream)},"data":${raw}}`
        for (const { connection, combined } of byStream.get(stream) ?? []) {
          connection.stream(combined ? wrapped : raw, listing.market, frame.eventAt)
        }
      }
      if (faults.find('shutdown', { exchange: 'binance', at: to })) announceShutdown(to)
    },
  }
}

/** Does what a client's message asks for and returns the reply. */
function obey({ streams }: Client, text: string): object {
  const { method, params, id = null } = (parseJson(text) ?? {}) as Readonly<Record<string, unknown>>
  const isKnown = method === 'SUBSCRIBE' || method === 'UNSUBSCRIBE'
  if (!isKnown || !Array.isArray(params)) return { error: { code: 2, msg: 'Invalid request' }, id }
  const wanted = new Set([...streams, ...params.map(String)])
  if (method === 'UNSUBSCRIBE') for (const stream of params) streams.delete(stream)
  else if (wanted.size > MAX_STREAMS) return { error: { code: 4, msg: 'Too many subscriptions' }, id }
  else for (const stream of wanted) streams.add(stream)
  return { result: null, id }
}
