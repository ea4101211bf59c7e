import { type Exchange, type Market, RATE_MARKET, REFERENCE_MARKETS } from '@kimchi/core'

/**
 * Subscribed whatever the coins are: so whether an exchange was up does not depend on them, and the stream of a
 * short list of coins is not silent for seconds at night.
 */
const ALWAYS_SUBSCRIBED: Readonly<Record<Exchange, readonly Market[]>> = {
  upbit: [REFERENCE_MARKETS.upbit, RATE_MARKET, 'KRW-ETH', 'KRW-XRP', 'KRW-SOL'],
  binance: [REFERENCE_MARKETS.binance],
}

/** The markets to subscribe to, for coins with these markets; each once. */
export function subscribedMarkets(exchange: Exchange, markets: readonly Market[]): readonly Market[] {
  return [...new Set([...ALWAYS_SUBSCRIBED[exchange], ...markets])]
}
