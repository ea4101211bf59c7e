import type { EpochMs, Market, Tick } from '@kimchi/core'
import { isFields } from '@kimchi/feeds'
import type { ExchangeAccess } from '../exchange-access.ts'
import { fail, ok, someOf, unknown, type Verdict, worstOf } from '../finding.ts'
import type { Streams, WatchedStream } from '../watched-stream.ts'

/** REST prices are compared with the frames of so long before and after their arrival. */
const COMPARE_WITHIN_MS = 3_000

/** REST and stream may be a trade apart. */
const TOLERANCE = 0.005

/** Markets' last prices by REST; `tradedAt` is 0 where the exchange does not say it. */
type LastPrices = ReadonlyMap<unknown, { readonly price: number; readonly tradedAt: EpochMs }>

async function fetchUpbitPrices({ rest }: ExchangeAccess): Promise<LastPrices> {
  const path = '/v1/ticker/all?quote_currencies=KRW'
  const trades = await rest.get('upbit', path, ({ json }) => [json].flat().filter(isFields))
  return new Map(
    trades.map(({ market, trade_price: price, trade_timestamp: at }) => {
      return [market, { price: Number(price), tradedAt: Number(at) }]
    }),
  )
}

async function fetchBinancePrices({ rest }: ExchangeAccess): Promise<LastPrices> {
  const prices = await rest.fetchTradingPrices()
  return new Map([...prices].map(([market, price]) => [market, { price: Number(price), tradedAt: 0 }]))
}

/** Compares the streams with REST, for all markets. */
export async function checkPrices({ upbit, binance }: Streams, access: ExchangeAccess): Promise<Verdict> {
  const { clock, signal } = access.context
  const lasts = await Promise.all([fetchUpbitPrices(access), fetchBinancePrices(access)])
  const answeredAt = clock.now()
  await clock.wait(COMPARE_WITHIN_MS, signal)
  return worstOf([compare(upbit, lasts[0], answeredAt), compare(binance, lasts[1], answeredAt)])
}

function compare(stream: WatchedStream, lasts: LastPrices, answeredAt: EpochMs): Verdict {
  const { exchange, markets, ticks, connection } = stream
  if (connection.signal.aborted) return unknown(`${exchange}: the connection ended meanwhile`)
  const uncompared: Market[] = []
  const differences = markets.flatMap(market => {
    const last = lasts.get(market)
    const known = ticks.filter(tick => tick.market === market)
    const newest = known.at(-1)
    if (last === undefined || newest === undefined) {
      uncompared.push(market)
      return []
    }
    if (known.every(({ eventAt }) => eventAt < last.tradedAt))
      return `${market} traded ${last.tradedAt - newest.eventAt} ms after its last frame`
    // A market that sends nothing keeps its last price.
    const recent = [...known.filter(({ receivedAt }) => receivedAt > answeredAt - COMPARE_WITHIN_MS), newest]
    const isNear = ({ price }: Tick) => Math.abs(price / last.price - 1) <= TOLERANCE
    return recent.some(isNear) ? [] : `${market} ${newest.price} in frames, ${last.price} by REST`
  })
  const seen = `${exchange}: ${markets.length - uncompared.length} of ${markets.length} markets compared`
  if (differences.length > 0)
    return fail(`${seen}; ${someOf(differences)}`, 'Published prices may be wrong. Tell the project.')
  return uncompared.length === 0 ? ok(seen) : unknown(`${seen}; not ${someOf(uncompared)}`)
}
