import type { Coin, Exchange, Market, Milliseconds, Tick } from '@kimchi/core'
import {
  binanceProtocol,
  type Connection,
  type Decoded,
  openConnection,
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
  /** The same codes in groups: they show which codes Upbit refuses. */
  readonly groups: readonly WatchedStream[]
  readonly binance: WatchedStream
}

/** How many codes a group subscribes to. */
const GROUP_CODES = 50

/** Upbit allows 5 connections a second. */
const OPEN_EVERY_MS: Milliseconds = 300

/** Opens the streams of these coins. @throws why one cannot be opened */
export async function openStreams(coins: readonly Coin[], access: ExchangeAccess): Promise<Streams> {
  const { context, onProgress } = access
  onProgress('opening the streams')
  const marketsOf = (exchange: Exchange) => coins.map(coin => coin[exchange])
  const codes = subscribedMarkets('upbit', marketsOf('upbit'))
  const symbols = subscribedMarkets('binance', marketsOf('binance'))
  const binance = await openStream('binance', symbols, 'binance-ws', access)
  const upbit = await openStream('upbit', codes, 'upbit-ws', access)
  const groups: WatchedStream[] = []
  for (let start = 0; start < codes.length; start += GROUP_CODES) {
    await context.clock.wait(OPEN_EVERY_MS, context.signal)
    const group = codes.slice(start, start + GROUP_CODES)
    groups.push(await openStream('upbit', group, `upbit-ws-${groups.length}`, access))
  }
  return { coins, upbit, groups, binance }
}

/**
 * Opens a connection at the base that the service would use; it ends with the signal.
 * @param name of the recorded frames
 * @param until resolves at the first frame, or at the first data
 * @throws why it has ended before
 */
export function openStream(
  exchange: Exchange,
  markets: readonly Market[],
  name: string,
  { streamBases, userAgent, record, context }: ExchangeAccess,
  until: 'answered' | 'live' = 'answered',
): Promise<WatchedStream> {
  const protocol = exchange === 'upbit' ? upbitProtocol : binanceProtocol
  const openAt = async (base: string) => {
    const ticks: Tick[] = []
    const others: Decoded[] = []
    let answer = () => {}
    const answered = new Promise<void>(resolve => {
      answer = resolve
    })
    const onFrame = (decoded: Decoded, frame: Buffer) => {
      answer()
      record(name, frame)
      if (decoded.kind === 'tick') ticks.push(decoded.tick)
      else others.push(decoded)
    }
    const connection = openConnection({ protocol, base, userAgent, markets, onFrame }, context)
    context.signal.addEventListener('abort', () => void connection.close(), { once: true })
    await (until === 'live' ? connection.live : Promise.race([answered, connection.ended]))
    const isAnswered = until === 'answered' && ticks.length + others.length > 0
    if (connection.signal.aborted && !isAnswered) throw await connection.ended
    return { exchange, markets, connection, ticks, others }
  }
  return streamBases[exchange].request(openAt)
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
