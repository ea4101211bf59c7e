import type { Exchange, SentFrame } from '@kimchi/simulator'

/** One price that left an exchange on one connection. */
export interface SentPrice {
  readonly price: number
  /** Upbit: time of the trade. Binance: `E`. */
  readonly eventAt: number
  readonly sentAt: number
}

/** Every price that the exchanges really sent, faults included, by connection and market. */
export class FrameRecord {
  /** connection → market → prices in the order sent. */
  readonly #sent: Readonly<Record<Exchange, Map<string, Map<string, SentPrice[]>>>> = {
    upbit: new Map(),
    binance: new Map(),
  }

  /** A listener for a simulator's `onFrame`. @param view tells connections of several simulators apart */
  listener(view: string): (frame: SentFrame) => void {
    return ({ exchange, connection, sentAt, text }) => {
      const read = exchange === 'upbit' ? readUpbit(text) : readBinance(text)
      if (read === undefined) return
      const { market, price, eventAt } = read
      const markets = entry(this.#sent[exchange], `${view}${connection}`, () => new Map())
      entry<SentPrice[]>(markets, market, () => []).push({ price, eventAt, sentAt })
    }
  }

  /** What each connection to the exchange was sent. */
  connections(exchange: Exchange): readonly ReadonlyMap<string, readonly SentPrice[]>[] {
    return [...this.#sent[exchange].values()]
  }
}

function readUpbit(text: string) {
  const frame = parse(text)
  const { code, trade_price: price, trade_timestamp: eventAt } = frame ?? {}
  if (typeof code !== 'string' || typeof price !== 'number' || typeof eventAt !== 'number') return undefined
  return { market: code, price, eventAt }
}

function readBinance(text: string) {
  const frame = parse(text)
  const { s: market, c, E: eventAt } = (frame?.data as Record<string, unknown> | undefined) ?? frame ?? {}
  const price = Number(c)
  if (typeof market !== 'string' || typeof eventAt !== 'number' || !(price > 0)) return undefined
  return { market, price, eventAt }
}

/** Frames that a fault has spoilt are part of no price. */
function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key) ?? make()
  map.set(key, known)
  return known
}
