import { type Coin, type EpochMinute, type Exchange, type Market, minuteOf, RATE_MARKET } from '@kimchi/core'
import { isFields } from '@kimchi/feeds'
import { AT_ONCE, type ExchangeAccess } from './exchange-access.ts'

/** How many candles a request fetches: those of both minutes, and some of a market that trades seldom. */
const COUNT = 6

/** What the doctor reads in a candle, beyond what backfill needs of it. */
export interface Candle {
  readonly close: number
  readonly low: number
  readonly high: number
  readonly hasTraded: boolean
}

/** Candles by the minute at which they end, ascending, of each market that has answered. */
export type Candles = ReadonlyMap<Market, ReadonlyMap<EpochMinute, Candle>>

/** The newest candles of all coins and of the rate, up to those of a minute. A request that fails is left out. */
export async function fetchCandles(
  coins: readonly Coin[],
  last: EpochMinute,
  { rest }: ExchangeAccess,
): Promise<Candles> {
  const found = new Map<Market, ReadonlyMap<EpochMinute, Candle>>()
  const ask = async (exchange: Exchange, market: Market) => {
    const readRow = exchange === 'upbit' ? readUpbit : readBinance
    const read = (json: unknown) => rowsOf(json).map(readRow)
    const rows = await rest
      .fetchRows({ exchange, market, count: COUNT, last }, read, AT_ONCE)
      .catch(() => undefined)
    if (rows !== undefined) found.set(market, new Map(rows.sort(([a], [b]) => a - b)))
  }
  const markets = coins.flatMap(({ upbit, binance }) => [ask('upbit', upbit), ask('binance', binance)])
  await Promise.all([ask('upbit', RATE_MARKET), ...markets])
  return found
}

type Row = Readonly<Record<string | number, unknown>>

function rowsOf(json: unknown): readonly Row[] {
  return [json].flat().filter((row): row is Row => isFields(row) || Array.isArray(row))
}

function readUpbit(row: Row): readonly [EpochMinute, Candle] {
  const [close, low, high] = [Number(row.trade_price), Number(row.low_price), Number(row.high_price)]
  return [minuteOf(Date.parse(`${row.candle_date_time_utc}Z`)) + 1, { close, low, high, hasTraded: true }]
}

function readBinance(row: Row): readonly [EpochMinute, Candle] {
  const [high, low, close, volume] = [2, 3, 4, 5].map(at => Number(row[at]))
  return [
    minuteOf(Number(row[0])) + 1,
    { close: close ?? 0, low: low ?? 0, high: high ?? 0, hasTraded: (volume ?? 0) > 0 },
  ]
}
