import type { Coin, Exchange, Market, Tick } from '@kimchi/core'
import {
  binanceProtocol,
  type Connection,
  type Decoded,
  subscribedMarkets,
  upbitProtocol,
} from '@kimchi/feeds'
import type { ExchangeAccess } from './exchange-access.ts'
import { fail, ok, type Verdict } from './finding.ts'

/** A connection of the service's own kind, and everything that it has brought. */
export interface WatchedStream {
  readonly exchange: Exchange
  readonly markets: readonly Market[]
  readonly connection: Connection
  readonly ticks: readonly Tick[]
  /** The frames that were no tick. */
  readonly others: readonly Decoded[]
}

/** The connections that several checks judge, so that none opens its own. */
export interface Streams {
  readonly coins: readonly Coin[]
  /** All codes in one subscription, as the service has it. */
  readonly upbit: WatchedStream
  readonly binance: WatchedStream
}

/** Opens the streams of these coins. @throws why one cannot be opened */
export async function openStreams(coins: readonly Coin[], access: ExchangeAccess): Promise<Streams> {
  if (coins.length === 0) throw new Error('not asked, since no coin is matched')
  const marketsOf = (exchange: Exchange) => coins.map(coin => coin[exchange])
  const codes = subscribedMarkets('upbit', marketsOf('upbit'))
  const symbols = subscribedMarkets('binance', marketsOf('binance'))
  const binance = await openStream('binance', symbols, 'binance-ws', access)
  const upbit = await openStream('upbit', codes, 'upbit-ws', access)
  return { coins, upbit, binance }
}

/**
 * Opens a connection at the base that the service would use; it ends with the signal.
 * @param name of the recorded frames
 * @throws why it has ended before its first data
 */
export async function openStream(
  exchange: Exchange,
  markets: readonly Market[],
  name: string,
  { doors, record, context }: ExchangeAccess,
): Promise<WatchedStream> {
  const protocol = exchange === 'upbit' ? upbitProtocol : binanceProtocol
  let ticks: Tick[] = []
  let others: Decoded[] = []
  const { connection } = await doors[exchange].openStream({
    protocol,
    markets: () => markets,
    onAttempt: attempt => {
      ticks = []
      others = []
      context.signal.addEventListener('abort', () => void attempt.close(), { once: true })
    },
    onFrame: (decoded, _connection, frame) => {
      record(name, frame)
      if (decoded.kind === 'tick') ticks.push(decoded.tick)
      else others.push(decoded)
    },
  })
  return { exchange, markets, connection, ticks, others }
}

export function framesOf<Kind extends Decoded['kind']>({ others }: WatchedStream, kind: Kind) {
  return others.filter((frame): frame is Extract<Decoded, { kind: Kind }> => frame.kind === kind)
}

/** Whether every frame could be read. */
export function judgeFrames(stream: WatchedStream): Verdict {
  const { length: count } = stream.ticks
  const malformed = framesOf(stream, 'malformed')
  if (count === 0) return fail(`no frame that could be read, ${malformed.length} malformed`)
  const [first] = malformed
  if (first === undefined) return ok(`${count} frames`)
  return fail(`${malformed.length} malformed frames beside ${count}: ${first.reason}`)
}
