import { type EpochMs, formatTimestamp, MINUTE_MS, type Milliseconds } from '@kimchi/core'
import type { Network } from '@kimchi/ingester'
import { createSimulator, type MemorySimulator, type SimulatorOptions } from '@kimchi/simulator'
import { type Carrier, type End, openWire, responseOf, type Wire } from '@kimchi/testkit'
import { Pace } from './pace.ts'
import type { Host, World } from './world.ts'

/** What the network does to one host's traffic with an exchange. */
export interface Weather {
  /** Longest one-way time of a packet. */
  latencyMs: Milliseconds
  /** Nothing arrives before this instant; what was sent comes then. */
  stalledUntil: EpochMs
  /** How often each frame comes. */
  copies: number
}

type Find = (minute: string, what: string) => void

const PUMP_MS: Milliseconds = 400
/** As the service's own limit, which runs by the machine's clock. */
const REQUEST_TIMEOUT_MS: Milliseconds = 10_000

/** More than this is a silence: 3 s, less what frames wait for the pump and on their way. */
const SILENCE_MS: Milliseconds = 2_500

/** By then, of the 5 s, frames have left by which a stream passes M. */
const PASSED_WITHIN_MS: Milliseconds = 4_500

/** How each one's streams are named, how far frames overtake each other, and how long before M a silence has to end. */
const STREAMS = [
  ['upbit', 1_600, 2_500, (coin: string) => `KRW-${coin}`],
  ['binance', 1_000, 5_500, (coin: string) => `${coin.toLowerCase()}usdt@miniTicker`],
] as const

/** Whether the exchanges send so much that an ingester has a live sample of M: docs/architecture.md, samples and gaps. */
const isHeard = ({ sockets }: MemorySimulator, coins: SimulatorOptions['coins'], minute: number) =>
  STREAMS.every(([exchange, disorderMs, knownMs, nameOf]) => {
    const at = minute * MINUTE_MS
    const dueOf = ({ id }: { readonly id: string }) =>
      sockets.due(exchange, nameOf(id), at - 4 * SILENCE_MS, at + PASSED_WITHIN_MS)
    const frames = (coins ?? []).flatMap(dueOf).sort((a, b) => a.at - b.at)
    const silences = frames.filter(({ at: end }, i) => end - (frames[i - 1]?.at ?? 0) > SILENCE_MS)
    const isPassed = frames.some(({ eventAt }) => eventAt >= at + disorderMs)
    return isPassed && silences.every(({ at: end }) => end < at - knownMs)
  })

/** What Binance counts of a request: docs/exchanges.md. */
const weightOf = ({ pathname }: URL) => (pathname.endsWith('Info') ? 20 : pathname.endsWith('price') ? 4 : 2)

/**
 * Both exchanges in memory, and the way to them of each host.
 * @param find hears of what a host asks too often
 */
export function openExchanges(world: World, options: SimulatorOptions, find: Find) {
  const simulator: MemorySimulator = createSimulator({
    clock: { now: () => world.now },
    limits: false,
    ...options,
  })
  const pump = () => {
    simulator.pump()
    world.after(PUMP_MS, pump)
  }
  pump()
  const ways = new Set<WeatheredWay>()
  const networkOf = (host: Host, weather: Weather): Pick<Network, 'openSocket' | 'fetch'> => {
    const paces = new Map<string, Pace>()
    const findNow = (what: string) =>
      find(formatTimestamp(Math.floor(world.now / MINUTE_MS)), `${host.name}: ${what}`)
    /** Of both bases of an exchange. */
    const paceOf = (way: 'handshakes' | 'requests' | 'weight', { hostname }: URL): Pace => {
      const what = `${way} to ${hostname.replace('-2', '')}`
      const pace = paces.get(what) ?? new Pace(what, findNow)
      paces.set(what, pace)
      return pace
    }
    return {
      openSocket: address => {
        const url = new URL(address)
        const pace = paceOf('handshakes', url)
        pace.ask(world.now)
        const way = new WeatheredWay(host, weather, simulator, url)
        way.wire.client.on('unexpected-response', (_request, { statusCode, headers }) =>
          pace.hear(world.now, statusCode, headers['retry-after']),
        )
        ways.add(way)
        way.wire.exchange.once('close', () => ways.delete(way))
        return way.wire.client
      },
      fetch: async (input, init) => {
        const url = new URL(String(input))
        const pace = paceOf('requests', url)
        pace.ask(world.now)
        for (let n = weightOf(url); n > 0; n--) paceOf('weight', url).ask(world.now)
        const answer = await new Promise<Response>((resolve, reject) => {
          const signal = init?.signal
          const abort = () => reject(new Error('aborted'))
          signal?.addEventListener('abort', abort, { once: true })
          const timeout = new Error(`no answer within ${REQUEST_TIMEOUT_MS} ms`)
          world.after(REQUEST_TIMEOUT_MS, () => reject(timeout), host)
          const delay = () =>
            Math.max(weather.stalledUntil - world.now, host.network.between(5, weather.latencyMs + 6))
          world.after(delay(), () => {
            const found = host.isDead ? undefined : simulator.answer(url, host.name)
            if (found !== undefined) world.after(delay(), () => resolve(responseOf(found)), host)
          })
        })
        pace.hear(world.now, answer.status, answer.headers.get('retry-after'))
        return answer
      },
    }
  }
  return {
    simulator,
    networkOf,
    /** @param isLeftOut whether a coin may not be subscribed, so that nobody hears of its trades */
    isHeard: (minute: number, isLeftOut: (id: string) => boolean) =>
      isHeard(
        simulator,
        options.coins?.filter(({ id }) => !isLeftOut(id)),
        minute,
      ),
    openSockets: () => [...ways].filter(({ wire }) => wire.isOpen).length,
    ways,
    /** Candles that an answer has lacked, by the ingester, symbol and time. */
    absentOnce: new Set<string>(),
  }
}

/** The way of one connection's packets, as the weather has it. */
class WeatheredWay implements Carrier {
  readonly host: Host
  readonly wire: Wire
  /** Nothing of it arrives before this instant. */
  stalledUntil: EpochMs = 0
  readonly #weather: Weather
  /** Packets of a direction don't overtake each other. */
  readonly #arrival = { client: 0, exchange: 0 }

  constructor(host: Host, weather: Weather, simulator: MemorySimulator, url: URL) {
    this.host = host
    this.#weather = weather
    this.wire = openWire(simulator, url, host.name, this)
  }

  carry(to: End, arrive: () => void, isFrame = false): void {
    const { world, network, isDead } = this.host
    if (isDead) return
    const at = Math.max(
      world.now + network.between(2, this.#weather.latencyMs + 3),
      this.stalledUntil,
      this.#weather.stalledUntil,
      this.#arrival[to],
    )
    this.#arrival[to] = at
    const copies = isFrame && to === 'client' ? this.#weather.copies : 1
    for (let copy = 0; copy < copies; copy++) world.at(at, arrive, this.#hostOf(to))
  }

  after(ms: Milliseconds, end: End, happen: () => void): void {
    this.host.world.after(ms, happen, this.#hostOf(end))
  }

  /** The exchange is none that a plan pauses. */
  #hostOf(end: End): Host | undefined {
    return end === 'client' ? this.host : undefined
  }
}
