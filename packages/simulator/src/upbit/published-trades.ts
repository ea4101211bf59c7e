import { fraction } from '../market/hash.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { EpochMs } from '../market/types.ts'

/** Without a `lag` fault a trade is published 1 to 8 ms after it was made. */
const USUAL_MS = 8

/**
 * The trades whose frames have a `timestamp` in [from, to), ordered by it. Where trades lag, an older one may follow
 * a newer one.
 */
export function publishedTrades(
  { prices, faults }: SimulatedExchanges,
  market: string,
  from: EpochMs,
  to: EpochMs,
) {
  const reach = Math.max(USUAL_MS, faults.longestLag(from))
  return prices
    .trades('upbit', market, from - reach, to)
    .map(trade => {
      const lag = faults.find('lag', { exchange: 'upbit', at: trade.at })?.fault
      const isLate = lag !== undefined && fraction(0x2545f491, trade.at) < (lag.share ?? 1)
      const { minMs = 0, maxMs } = isLate ? lag : { minMs: 1, maxMs: USUAL_MS }
      const lateMs = minMs + Math.floor(fraction(0x7f4a7c15, trade.at) * (maxMs - minMs + 1))
      return { trade, publishedAt: trade.at + lateMs }
    })
    .filter(({ publishedAt }) => publishedAt >= from && publishedAt < to)
    .sort((a, b) => a.publishedAt - b.publishedAt)
}

/** The newest trade of a market that is published at an instant. */
export function newestPublished(exchanges: SimulatedExchanges, market: string, at: EpochMs) {
  const reach = Math.max(USUAL_MS, exchanges.faults.longestLag(at))
  const older = exchanges.prices.lastTrade('upbit', market, at - reach)
  const recent = publishedTrades(exchanges, market, at - reach, at).map(({ trade }) => trade)
  return recent.reduce((newest, trade) => (newest && newest.at > trade.at ? newest : trade), older)
}
