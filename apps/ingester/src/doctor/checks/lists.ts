import { type Coin, type Market, messageOf, percentOf, premiumE4, RATE_MARKET } from '@kimchi/core'
import { isFields, type Listings, matchCoins } from '@kimchi/feeds'
import { AT_ONCE, type ExchangeAccess } from '../exchange-access.ts'
import { fail, ok, unknown, type Verdict } from '../finding.ts'
import type { Streams, WatchedStream } from '../watched-stream.ts'

/** Points off the median beyond which a person must judge a pair. */
const FAR_POINTS = 5

/** With `all`, the share of Upbit's KRW markets that are on both exchanges: 195 of 291 on 2026-10-05. */
const LEAST_MATCHED_SHARE = 1 / 3

const SUSPECT_ADVICE =
  'Find out whether each is one coin on both exchanges; DENY it, or add a line to pairs.ts, if not.'

export interface Lists extends Listings {
  readonly coins: readonly Coin[]
}

/** Fetches both lists and matches them. @throws KimchiError or HttpError when one cannot be had */
export async function fetchLists({ rest, config }: ExchangeAccess): Promise<Lists> {
  const listings = await rest.fetchListings(AT_ONCE)
  const { coins } = matchCoins({ ...listings, wanted: config.COINS })
  return { ...listings, coins: coins.filter(({ symbol }) => !config.DENY.includes(symbol)) }
}

/** Whether the lists have come, with enough of the wanted coins, and names for them. */
export async function checkLists(fetched: Promise<Lists>, { config }: ExchangeAccess): Promise<Verdict> {
  const lists = await fetched.catch(messageOf)
  if (typeof lists === 'string') return fail(lists, 'No coin can be tracked. Tell the project.')
  const { upbit, binance, coins } = lists
  const { COINS } = config
  const wanted = COINS === 'all' ? Math.max(2, Math.ceil(upbit.length * LEAST_MATCHED_SHARE)) : COINS.length
  const named = coins.filter(({ name, symbol }) => name !== symbol).length
  const seen = `${upbit.length} in KRW on Upbit, ${binance.length} in USDT on Binance, ${coins.length} matched, ${named} with a name`
  if (coins.length < wanted)
    return fail(`${seen}; at least ${wanted} wanted`, 'Check COINS and DENY, or tell the project.')
  // A few coins are named like their ticker, as XRP is. When most seem to be, Upbit has dropped the field of names.
  return named * 2 >= coins.length ? ok(seen) : fail(seen, 'The list shows tickers instead of names.')
}

/** Whether the matched pairs are one coin each, by their prices. */
export function checkPairs({ coins, upbit, binance }: Streams, { lastAnswers }: ExchangeAccess): Verdict {
  const [krw, usdt] = [lastPrices(upbit), lastPrices(binance)]
  const premiums = coins.flatMap(coin => {
    const [won, dollars, rate] = [krw.get(coin.upbit), usdt.get(coin.binance), krw.get(RATE_MARKET)]
    if (won === undefined || dollars === undefined || rate === undefined) return []
    return [{ ...coin, premium: percentOf(premiumE4(won, dollars, rate)) }]
  })
  const median = premiums.map(({ premium }) => premium).sort((a, b) => a - b)[premiums.length >> 1] ?? 0
  const far = premiums.filter(({ premium }) => Math.abs(premium - median) > FAR_POINTS)
  const markets = [lastAnswers.get('upbit-market-all')?.json].flat()
  const warned = new Set(markets.filter(isWarned).map(({ market }) => market))
  const suspect = far.filter(({ upbit }) => !warned.has(upbit))
  const told = far.map(({ name, upbit, binance, premium }) => {
    const words = warned.has(upbit) ? 'probably true, Upbit warns of it' : 'suspect'
    return `${name} (${upbit}) and ${binance} ${premium.toFixed(2)} % (${words})`
  })
  const compared = `${premiums.length} of ${coins.length} pairs compared, median ${median.toFixed(2)} %`
  const seen = [compared, ...told].join('; ')
  if (suspect.length > 0) return unknown(seen, SUSPECT_ADVICE)
  return premiums.length === coins.length ? ok(seen) : unknown(seen)
}

/** Whether Upbit itself warns that a market's price is far from the world's. */
function isWarned(entry: unknown): entry is { market: unknown } {
  const event = isFields(entry) && isFields(entry.market_event) ? entry.market_event : {}
  return isFields(event.caution) && event.caution.GLOBAL_PRICE_DIFFERENCES === true
}

/** The newest price of each market that a stream has brought. */
function lastPrices(stream: WatchedStream): ReadonlyMap<Market, number> {
  return new Map(stream.ticks.map(({ market, price }) => [market, price]))
}
