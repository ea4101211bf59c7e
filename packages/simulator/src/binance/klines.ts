import { PAUSES } from '../faults/timeline.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import { listedMarket } from '../market/states.ts'
import type { EpochMs, Market } from '../market/types.ts'
import { type RestResponse, wholeNumber } from '../server/rest-response.ts'
import { decimal } from './decimal.ts'

const MINUTE = 60_000
const MAX_ROWS = 1_000

/**
 * GET /api/v3/klines: a row for every minute, with volume 0 when nothing traded.
 * @see docs/exchanges.md#binance-rest
 */
export function klines(exchanges: SimulatedExchanges, url: URL): RestResponse {
  const query = url.searchParams
  const market = listedMarket(exchanges, 'binance', query.get('symbol') ?? '')
  if (!market) return failed(-1121, 'Invalid symbol.')
  if (query.get('interval') !== '1m') return failed(-1120, 'Invalid interval.')
  const limit = wholeNumber(query.get('limit'), 500)
  const now = exchanges.clock.now()
  const to = Math.min(wholeNumber(query.get('endTime'), now), now)
  const from = wholeNumber(query.get('startTime'), Number.NEGATIVE_INFINITY)
  if (!(limit > 0) || Number.isNaN(to) || Number.isNaN(from)) {
    return failed(-1100, 'Illegal characters found in a parameter.')
  }
  return { status: 200, body: rows(exchanges, market, openTimes(from, to, Math.min(limit, MAX_ROWS))) }
}

/** Opening times in [from, to]: the first `limit` of them when `from` is given, else the last. */
function openTimes(from: EpochMs, to: EpochMs, limit: number): EpochMs[] {
  const newest = Math.floor(to / MINUTE) * MINUTE
  const first = from > 0 ? Math.ceil(from / MINUTE) * MINUTE : newest - (limit - 1) * MINUTE
  const opens: EpochMs[] = []
  for (let open = first; open <= newest && opens.length < limit; open += MINUTE) opens.push(open)
  return opens
}

function rows(exchanges: SimulatedExchanges, { code }: Market, opens: readonly EpochMs[]): unknown[][] {
  const { prices, clock, faults } = exchanges
  let before: number | undefined
  return opens.flatMap(open => {
    // The newest row is the open minute: it holds what has traded until now.
    const candle = prices.candle('binance', code, open, clock.now())
    before = candle?.close ?? before ?? prices.lastTrade('binance', code, open)?.price
    if (before === undefined) return []
    if (!candle && faults.timeline.find(PAUSES, 'binance', code, open)?.klines === 'none') return []
    const { open: first = before, high = before, low = before } = candle ?? {}
    const { volume = 0, quoteVolume = 0, trades = 0 } = candle ?? {}
    const [o, h, l, c, v, q] = [first, high, low, before, volume, quoteVolume].map(decimal)
    const taken = [decimal(volume / 2), decimal(quoteVolume / 2)]
    return [[open, o, h, l, c, v, open + MINUTE - 1, q, trades, ...taken, '0']]
  })
}

function failed(code: number, msg: string): RestResponse {
  return { status: 400, body: { code, msg } }
}
