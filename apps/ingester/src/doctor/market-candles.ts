import { type Coin, type EpochMinute, type Exchange, type Market, minuteOf, RATE_MARKET } from '@kimchi/core'
import { AT_ONCE, type ExchangeAccess } from './exchange-access.ts'

/** How many candles a request fetches. A market that trades seldom has none in some of its minutes. */
const COUNT = 6

/** What the doctor reads in a candle, beyond what backfill needs of it. */
export interface Candle {
  readonly close: number
  readonly low: number
  readonly high: number
  readonly volume: number
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
    const read = (json: unknown) => [json].flat().map(row => readRow(exchange, Object(row)))
    const rows = await rest
      .fetchRows({ exchange, market, count: COUNT, last }, read, AT_ONCE)
      .catch(() => undefined)
    if (rows !== undefined) found.set(market, new Map(rows.sort(([a], [b]) => a - b)))
  }
  const markets = coins.flatMap(({ upbit, binance }) => [ask('upbit', upbit), ask('binance', binance)])
  await Promise.all([ask('upbit', RATE_MARKET), ...markets])
  return found
}

/** The fields of a row that hold when the candle opened, and its numbers. */
const FIELDS = {
  upbit: ['candle_date_time_utc', 'trade_price', 'low_price', 'high_price', 'candle_acc_trade_volume'],
  binance: [0, 4, 3, 2, 5],
} as const

function readRow(exchange: Exchange, row: Readonly<Record<string | number, unknown>>): [EpochMinute, Candle] {
  const [openedAt, ...numbers] = FIELDS[exchange].map(field => row[field])
  const [close = 0, low = 0, high = 0, volume = 0] = numbers.map(Number)
  const opened = typeof openedAt === 'string' ? Date.parse(`${openedAt}Z`) : Number(openedAt)
  return [minuteOf(opened) + 1, { close, low, high, volume }]
}
