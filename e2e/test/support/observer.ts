import { once } from 'node:events'
import type { Teardown } from '@kimchi/testkit'
import { WebSocket } from 'ws'

/** Another client of the same exchanges, with none of the ingester's code. */
export interface Observer {
  /** The last price with an event time before `at`, as sent over the wire. */
  lastBefore(market: string, at: number): number | undefined
}

interface SeenPrice {
  readonly market: string
  readonly price: number
  readonly eventAt: number
}

/**
 * Subscribes to the given markets of both exchanges and remembers every price with its event time, until
 * the test ends.
 * @param url the simulator's `http://host:port`
 */
export async function observe(
  t: Teardown,
  url: string,
  upbit: readonly string[],
  binance: readonly string[],
): Promise<Observer> {
  const seen: SeenPrice[] = []
  const base = url.replace('http', 'ws')
  const upbitSocket = new WebSocket(`${base}/websocket/v1`)
  t.teardown(() => upbitSocket.terminate())
  await once(upbitSocket, 'open')
  upbitSocket.on('message', frame => {
    const { code, trade_price, trade_timestamp } = JSON.parse(String(frame))
    if (code) seen.push({ market: code, price: trade_price, eventAt: trade_timestamp })
  })
  upbitSocket.send(JSON.stringify([{ ticket: 'observer' }, { type: 'ticker', codes: upbit }]))
  // Upbit cuts whoever sends no ping for 60 s. @see docs/exchanges.md#upbit-websocket
  const pings = setInterval(() => upbitSocket.ping(), 20_000)
  upbitSocket.once('close', () => clearInterval(pings))

  const streams = binance.map(market => `${market.toLowerCase()}@miniTicker`).join('/')
  const binanceSocket = new WebSocket(`${base}/stream?streams=${streams}`)
  t.teardown(() => binanceSocket.terminate())
  await once(binanceSocket, 'open')
  binanceSocket.on('message', frame => {
    const { s, c, E } = JSON.parse(String(frame)).data ?? {}
    if (s) seen.push({ market: s, price: Number(c), eventAt: E })
  })
  const seed = await fetch(
    `${url}/api/v3/ticker/price?symbols=${encodeURIComponent(JSON.stringify(binance))}`,
  )
  for (const { symbol, price } of (await seed.json()) as { symbol: string; price: string }[]) {
    seen.push({ market: symbol, price: Number(price), eventAt: 0 })
  }
  return {
    lastBefore(market, at) {
      const before = seen.filter(price => price.market === market && price.eventAt < at)
      return before.sort((a, b) => a.eventAt - b.eventAt).at(-1)?.price
    },
  }
}
