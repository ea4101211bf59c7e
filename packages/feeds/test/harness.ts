import { createServer, type RequestListener } from 'node:http'
import {
  type Context,
  type Interruption,
  LatestTicks,
  type Market,
  type Milliseconds,
  type Tick,
} from '@kimchi/core'
import { startSimulator } from '@kimchi/simulator'
import { createMemoryLog, eventually, listen, passUntil } from '@kimchi/testkit'
import { createManualClock, type ManualClock } from '@kimchi/testkit/manual-clock'
import type { Test } from 'tap'
import { createDoors, type DoorOptions } from '../src/door/door.ts'
import { type Feed, type FeedOptions, openFeed } from '../src/feed/feed.ts'
import { RestClient } from '../src/rest/client.ts'
import type { TradingPrices } from '../src/rest/trading-prices.ts'
import { Retry } from '../src/retry.ts'
import { scriptExchange, untilRead } from './scripted-exchange.ts'

/** When the tests' clock starts. */
export const AT = Date.UTC(2026, 10, 20, 12)

/** A feed and all that it has reported; closed at the end of the test. */
export function watchFeed(
  t: Test,
  {
    bases,
    userAgent = 'test',
    tradingPrices,
    ...options
  }: Pick<FeedOptions, 'protocol'> &
    Partial<FeedOptions & Pick<DoorOptions, 'userAgent'>> & {
      readonly bases: string | readonly string[]
      /** Answers at once in place of the REST client. */
      readonly tradingPrices?: () => Promise<TradingPrices>
    },
  clock = createManualClock(AT),
  random = () => 0.5,
): {
  feed: Feed
  clock: ManualClock
  ticks: Tick[]
  interruptions: Interruption[]
  /** What the feed last reported of each market without a tick. */
  tradable: Map<Market, boolean>
  forgotten: Market[]
  /** Markets of which a frame could not be read; undefined for one that may be of any. */
  missed: (Market | undefined)[]
  log: ReturnType<typeof createMemoryLog>
} {
  const ticks: Tick[] = []
  const interruptions: Interruption[] = []
  const tradable = new Map<Market, boolean>()
  const forgotten: Market[] = []
  const missed: (Market | undefined)[] = []
  const latest = new LatestTicks()
  const log = createMemoryLog()
  const { exchange } = options.protocol
  const { [exchange]: door } = openDoors({ streams: bases, userAgent }, { clock, random, log })
  const feed = openFeed(
    {
      markets: [],
      door,
      sink: {
        record: (tick, heard) => {
          ticks.push(tick)
          // Scripted frames have fixed times.
          const times = { eventAt: tick.receivedAt, sentAt: tick.receivedAt }
          const interruption = latest.record({ ...tick, ...times }, heard)
          if (interruption !== undefined) interruptions.push(interruption)
          return interruption
        },
        miss: (_exchange, market) => void missed.push(market),
        setTradable: (_exchange, market, isTradable) => void tradable.set(market, isTradable),
        forget: (_exchange, market) => void forgotten.push(market),
      },
      ...(tradingPrices && {
        fetchTradingPrices: async () => ({
          asked: { at: clock.now(), elapsed: clock.elapsed() },
          trading: await tradingPrices(),
        }),
      }),
      ...options,
    },
    { clock, random, log },
  )
  t.teardown(() => feed.close())
  return { feed, clock, ticks, interruptions, tradable, forgotten, missed, log }
}

/** A feed at an exchange that sends what a test makes it send; resolves when it has subscribed. */
export async function openScripted(
  t: Test,
  options: Omit<Parameters<typeof watchFeed>[1], 'bases'>,
  clock = createManualClock(AT),
) {
  const exchange = await scriptExchange(t)
  const watched = watchFeed(t, { bases: exchange.url, ...options }, clock)
  const subscribed = (peer = 0) => (exchange.peers[peer]?.received.length ?? 0) > 0
  await eventually('the subscription', subscribed)
  /** Sends a frame on a connection, by default the first, and waits until it is read. */
  const send = async (frame: string | Buffer, peer = 0) => {
    exchange.peers[peer]?.socket.send(frame)
    await untilRead(exchange.peers[peer])
  }
  /** Lets time pass until this connection has subscribed, the first successor by default. */
  const untilNext = (peer = 1) => passUntil(clock, 'the next connection', () => subscribed(peer))
  return { exchange, send, untilNext, ...watched }
}

type Bases = string | readonly string[] | DoorOptions['rest']

/** Both exchanges' doors at the same addresses, or each at its own. */
export function openDoors(
  {
    streams = [],
    rest = [],
    ...options
  }: Partial<Omit<DoorOptions, 'streams' | 'rest'>> & {
    readonly streams?: Bases
    readonly rest?: Bases
  },
  context: Partial<Context> = {},
) {
  const both = (bases: Bases) =>
    typeof bases === 'object' && 'upbit' in bases ? bases : { upbit: bases, binance: bases }
  return createDoors(
    {
      streams: both(streams),
      rest: both(rest),
      userAgent: 'test',
      upbitPerSecond: Number.POSITIVE_INFINITY,
      ...options,
    },
    {
      clock: createManualClock(AT),
      random: () => 0.5,
      log: createMemoryLog(),
      signal: new AbortController().signal,
      ...context,
    },
  )
}

/** A REST client of one address for both exchanges, or of several. */
export function createRest(
  rest: Bases,
  { userAgent = 'test', ...context }: { userAgent?: string } & Partial<Context> = {},
) {
  return new RestClient(openDoors({ rest, userAgent }, context))
}

/** An HTTP server that answers as a test says. */
export async function serve(t: Test, answer: RequestListener) {
  return `http://127.0.0.1:${await listen(t, createServer(answer))}`
}

/** A simulator that is closed at the end of the test. */
export async function simulate(t: Test, options: Parameters<typeof startSimulator>[0] = {}) {
  const simulator = await startSimulator({ speed: 20, ...options })
  t.teardown(() => simulator.close())
  return simulator
}

/** How long to wait after a failure that follows so many others. */
export function delayAfter(failures: number, random: number, cause?: unknown): Milliseconds {
  const { signal } = new AbortController()
  const retry = new Retry({
    clock: createManualClock(0),
    log: createMemoryLog(),
    random: () => random,
    signal,
  })
  retry.failures = failures
  return retry.delay(cause)
}
