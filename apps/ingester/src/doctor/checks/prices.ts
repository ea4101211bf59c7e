import type { EpochMs, Market, Tick } from '@kimchi/core'
import { isFields } from '@kimchi/feeds'
import { fail, ok, someOf, unknown, type Verdict, worstOf } from '../finding.ts'
import { fetchRecorded, type Instruments } from '../instruments.ts'
import { type Streams, ticksOf, type WatchedStream } from '../watched-stream.ts'

/** REST prices are fetched when frames have come, and compared when the frames beside its answer have. */
const FETCH_AFTER_MS = 5_000
const BESIDE_MS = 3_000

/** REST and stream may be a trade apart. */
const APART_SHARE = 0.005

/** Markets' last prices by REST; `tradedAt` is 0 where the exchange does not say it. */
type LastPrices = ReadonlyMap<unknown, { readonly price: number; readonly tradedAt: EpochMs }>

/** Fetches which symbols trade on Binance, and at what price, as the service does once a minute. */
export async function fetchTradingPrices(instruments: Instruments): Promise<LastPrices> {
  const { json } = await fetchRecorded(instruments, 'binance', '/api/v3/ticker/price?symbolStatus=TRADING')
  const entries = [json].flat().filter(isFields)
  return new Map(entries.map(({ symbol, price }) => [symbol, { price: Number(price), tradedAt: 0 }]))
}

async function fetchLastTrades(instruments: Instruments): Promise<LastPrices> {
  const { json } = await fetchRecorded(instruments, 'upbit', '/v1/ticker/all?quote_currencies=KRW')
  const trades = [json].flat().filter(isFields)
  return new Map(
    trades.map(({ market, trade_price: price, trade_timestamp: at }) => {
      return [market, { price: Number(price), tradedAt: Number(at) }]
    }),
  )
}

/** Compares the streams with REST, for all markets. */
export async function checkPrices({ upbit, binance }: Streams, instruments: Instruments): Promise<Verdict> {
  const { clock, signal } = instruments.context
  await clock.wait(FETCH_AFTER_MS, signal)
  const lasts = await Promise.all([fetchLastTrades(instruments), fetchTradingPrices(instruments)])
  const answeredAt = clock.now()
  await clock.wait(BESIDE_MS, signal)
  return worstOf([compare(upbit, lasts[0], answeredAt), compare(binance, lasts[1], answeredAt)])
}

function compare(stream: WatchedStream, lasts: LastPrices, answeredAt: EpochMs): Verdict {
  const { exchange, markets } = stream
  const ticks = ticksOf(stream)
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
    const beside = [...known.filter(({ receivedAt }) => receivedAt > answeredAt - BESIDE_MS), newest]
    const isNear = ({ price }: Tick) => Math.abs(price / last.price - 1) <= APART_SHARE
    return beside.some(isNear) ? [] : `${market} ${newest.price} in frames, ${last.price} by REST`
  })
  const seen = `${exchange}: ${markets.length - uncompared.length} of ${markets.length} markets compared`
  if (differences.length > 0)
    return fail(`${seen}; ${someOf(differences)}`, 'Published prices are wrong. Tell the project.')
  return uncompared.length === 0 ? ok(seen) : unknown(`${seen}; not ${someOf(uncompared)}`)
}
