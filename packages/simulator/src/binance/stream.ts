import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { parseJson } from '../server/client-input.ts'
import type { ExchangeStream } from '../server/connection.ts'
import { createWindowCounter } from '../server/window-counter.ts'
import { createMiniTickers, type StreamFrame } from './mini-ticker.ts'

const MAX_STREAMS = 1_024
const MAX_MESSAGES_PER_SECOND = 5

export function createBinanceStream(exchanges: SimulatedExchanges): ExchangeStream {
  const { clock, limitFactor, faults, settle } = exchanges
  const perSecond = createWindowCounter(1_000)
  return {
    open(connection, { pathname, searchParams }) {
      // Streams may be named in the address of a combined connection only.
      const keys = new Set(searchParams.get('streams')?.split('/'))
      /** Frames of a combined connection name their stream. */
      const shape = (frame: StreamFrame): object => (pathname.startsWith('/stream') ? frame : frame.data)
      return {
        connection,
        keys,
        textOf: frame => JSON.stringify(shape(frame as StreamFrame)),
        message(text) {
          const count = perSecond(String(connection.number), clock.now())
          if (count > MAX_MESSAGES_PER_SECOND * limitFactor) connection.close(1008, 'Too many requests')
          else {
            settle()
            connection.reply(obey(keys, text))
          }
        },
        obey(at) {
          if (!faults.find('shutdown', { exchange: 'binance', at })) return
          connection.reply(shape({ stream: '!serverShutdown', data: { e: 'serverShutdown', E: at } }))
        },
      }
    },
    due: createMiniTickers(exchanges),
  }
}

/** Does what a client's message asks for and returns the reply. */
function obey(streams: Set<string>, text: string): object {
  const { method, params, id = null } = (parseJson(text) ?? {}) as Readonly<Record<string, unknown>>
  const isKnown = method === 'SUBSCRIBE' || method === 'UNSUBSCRIBE'
  if (!isKnown || !Array.isArray(params)) return { error: { code: 2, msg: 'Invalid request' }, id }
  const wanted = new Set([...streams, ...params.map(String)])
  if (method === 'UNSUBSCRIBE') for (const stream of params) streams.delete(stream)
  else if (wanted.size > MAX_STREAMS) return { error: { code: 4, msg: 'Too many subscriptions' }, id }
  else for (const stream of wanted) streams.add(stream)
  return { result: null, id }
}
