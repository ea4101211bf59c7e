import { decimal } from './binance-ticker.ts'
import { type RestAnswer, wholeNumber } from './rest-answer.ts'
import type { EpochMs, Market } from './types.ts'
import type { World } from './world.ts'

const MINUTE = 60_000
const INTERVALS: Readonly<Record<string, number>> = {
  '1m': MINUTE,
  '3m': 3 * MINUTE,
  '5m': 5 * MINUTE,
  '15m': 15 * MINUTE,
  '30m': 30 * MINUTE,
  '1h': 60 * MINUTE,
}
const MAX_ROWS = 1_000

/** GET /api/v3/klines: a row for every interval, with volume 0 when nothing traded. @see exchange-protocols §4 */
export function klines(world: World, url: URL): RestAnswer {
  const query = url.searchParams
  const market = world.markets.get('binance', query.get('symbol') ?? '')
  if (!market || market.listedAt > world.clock.now()) return failed(-1121, 'Invalid symbol.')
  const length = INTERVALS[query.get('interval') ?? '']
  if (!length) return failed(-1120, 'Invalid interval.')
  const limit = wholeNumber(query.get('limit'), 500)
  const now = world.clock.now()
  const to = Math.min(wholeNumber(query.get('endTime'), now), now)
  const from = wholeNumber(query.get('startTime'), Number.NEGATIVE_INFINITY)
  if (!(limit > 0) || Number.isNaN(to) || Number.isNaN(from))
    return failed(-1100, 'Illegal characters found in a parameter.')
  const opens = openTimes(Math.max(from, market.listedAt), to, length, Math.min(limit, MAX_ROWS))
  return { status: 200, body: rows(world, market, opens, length) }
}

/** Opening times in [from, to]: the first `limit` of them when `from` is given, else the last. */
function openTimes(from: EpochMs, to: EpochMs, length: number, limit: number): EpochMs[] {
  const newest = Math.floor(to / length) * length
  const oldest = newest - (limit - 1) * length
  const first = from > 0 ? Math.ceil(from / length) * length : oldest
  const opens: EpochMs[] = []
  for (let open = first; open <= newest && opens.length < limit; open += length) opens.push(open)
  return opens
}

function rows(world: World, market: Market, opens: readonly EpochMs[], length: number): unknown[][] {
  let before: number | undefined
  const now = world.clock.now()
  return opens.flatMap(open => {
    // The newest row is the open interval: it holds what has traded until now.
    const candle = world.prices.candle('binance', market.code, open, Math.min(length, now - open))
    before = candle?.close ?? before ?? world.prices.lastTrade('binance', market.code, open)?.price
    if (before === undefined) return []
    const { open: first = before, high = before, low = before, volume = 0, quoteVolume = 0 } = candle ?? {}
    const { trades = 0, takerVolume = 0, takerQuoteVolume = 0 } = candle ?? {}
    const prices = [first, high, low, before].map(decimal)
    const taker = [decimal(takerVolume), decimal(takerQuoteVolume), '0']
    return [[open, ...prices, decimal(volume), open + length - 1, decimal(quoteVolume), trades, ...taker]]
  })
}

function failed(code: number, msg: string): RestAnswer {
  return { status: 400, body: { code, msg } }
}
