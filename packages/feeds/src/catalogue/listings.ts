import { type Exchange, KimchiError } from '@kimchi/core'
import { type Fields, isFields, shown } from '../feed/frame.ts'

/** A list with a smaller share of the markets of the list before it is broken. */
const LEAST_SHARE = 0.75

/** One KRW market of Upbit, from `market/all`. */
export interface UpbitMarket {
  /** `KRW-BTC` */
  readonly market: string
  /** `BTC` */
  readonly base: string
  /** Upbit's English name, or the ticker where it has none. */
  readonly name: string
}

/** One USDT market of Binance, from `exchangeInfo`. */
export interface BinanceMarket {
  /** `BTCUSDT` */
  readonly market: string
  /** `BTC` */
  readonly base: string
  /** Whether it trades now. Binance keeps listing a market that does not, with its last price, for years. */
  readonly trading: boolean
}

/** The markets that one exchange lists. */
export interface Listing<M> {
  readonly exchange: Exchange
  /** Markets in KRW on Upbit, in USDT on Binance. */
  readonly markets: readonly M[]
}

/** What both exchanges list now. */
export interface Listings {
  readonly upbit: Listing<UpbitMarket>
  readonly binance: Listing<BinanceMarket>
}

/**
 * The markets in Upbit's raw answer to `market/all`. A bad entry is left out.
 * @throws KimchiError `KIMCHI_ERR_CATALOGUE` when it is no list, or no entry of it can be read
 * @see docs/exchanges.md#upbit-rest
 */
export function parseUpbitMarkets(answer: unknown): Listing<UpbitMarket> {
  return toListing('upbit', 'market/all', answer, toUpbitMarket)
}

/**
 * The markets in Binance's raw answer to `exchangeInfo`. A bad entry is left out.
 * @throws KimchiError `KIMCHI_ERR_CATALOGUE` when it has no list of symbols, or no entry of it can be read
 * @see docs/exchanges.md#binance-rest
 */
export function parseBinanceSymbols(answer: unknown): Listing<BinanceMarket> {
  const symbols = isFields(answer) ? answer.symbols : answer
  return toListing('binance', 'exchangeInfo symbols', symbols, toBinanceMarket)
}

/**
 * Refuses an implausible listing, so that the caller keeps the one before.
 * @param previousCount markets of the listing before; 0 when there was none
 * @throws KimchiError `KIMCHI_ERR_CATALOGUE` when it is empty or has lost more than a quarter of the markets
 *   before: an exchange never delists so many within an hour
 */
export function checkListing(
  previousCount: number,
  { exchange, markets }: Pick<Listing<unknown>, 'exchange' | 'markets'>,
): void {
  if (markets.length > 0 && markets.length >= previousCount * LEAST_SHARE) return
  throw new KimchiError(
    'KIMCHI_ERR_CATALOGUE',
    `${exchange} listing must have at least three quarters of the ${previousCount} markets before, got: ${markets.length}`,
  )
}

/** A market, `other` for one in another currency, or undefined for an entry that cannot be read. */
type Entry<M> = M | 'other' | undefined

function toListing<M>(
  exchange: Exchange,
  field: string,
  answer: unknown,
  toMarket: (entry: Fields) => Entry<M>,
): Listing<M> {
  const entries = Array.isArray(answer)
    ? answer.map(entry => (isFields(entry) ? toMarket(entry) : undefined))
    : []
  if (entries.some(entry => entry !== undefined)) {
    return { exchange, markets: entries.filter(entry => entry !== undefined && entry !== 'other') as M[] }
  }
  const got = Array.isArray(answer) ? `${answer.length} entries, none of them readable` : shown(answer)
  throw new KimchiError('KIMCHI_ERR_CATALOGUE', `${exchange} ${field} must be a list of markets, got: ${got}`)
}

function toUpbitMarket({ market, english_name: englishName }: Fields): Entry<UpbitMarket> {
  if (typeof market !== 'string') return undefined
  const [quote = '', base = '', ...rest] = market.split('-')
  if (quote === '' || base === '' || rest.length > 0) return undefined
  if (quote !== 'KRW') return 'other'
  return { market, base, name: displayName(englishName) ?? base }
}

function toBinanceMarket(entry: Fields): Entry<BinanceMarket> {
  const { symbol: market, baseAsset: base, quoteAsset: quote, status } = entry
  if (typeof market !== 'string' || typeof base !== 'string' || typeof status !== 'string') return undefined
  if (base === '' || market !== `${base}${quote}`) return undefined
  if (quote !== 'USDT') return 'other'
  return { market, base, trading: status === 'TRADING' && entry.isSpotTradingAllowed !== false }
}

/** A name fit for a line of text: trimmed, in NFC, without control characters, at most 80 characters long. */
function displayName(name: unknown): string | undefined {
  if (typeof name !== 'string') return undefined
  const plain = name.normalize('NFC').replace(/\p{C}/gu, '').trim()
  // By characters: slicing the string could cut a surrogate pair in half.
  return plain === '' ? undefined : [...plain].slice(0, 80).join('')
}
