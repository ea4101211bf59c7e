import { type Exchange, KimchiError } from '@kimchi/core'
import { type Fields, isFields, shown } from '../feed/frame.ts'

/** Of the markets in the list before; a shorter list is a broken one. */
const LEAST_SHARE = 0.75

/** One KRW market of Upbit, as `market/all` has it. */
export interface UpbitMarket {
  /** `KRW-BTC` */
  readonly market: string
  /** `BTC` */
  readonly base: string
  /** Upbit's English name, or the ticker where it has none. */
  readonly name: string
}

/** One USDT market of Binance, as `exchangeInfo` has it. */
export interface BinanceMarket {
  /** `BTCUSDT` */
  readonly market: string
  /** `BTC` */
  readonly base: string
  /** Whether it trades now; the other states keep answering with their last price for years. */
  readonly trading: boolean
}

/** What one exchange lists. */
export interface Listing<M> {
  readonly exchange: Exchange
  /** Markets in KRW on Upbit, in USDT on Binance. */
  readonly markets: readonly M[]
}

/**
 * Reads Upbit's raw answer to `market/all`. A bad entry is left out.
 * @throws KimchiError `KIMCHI_ERR_CATALOGUE` when it is no list, or no entry of it can be read
 * @see docs/exchanges.md#upbit-rest
 */
export function parseUpbitMarkets(answer: unknown): Listing<UpbitMarket> {
  return readEntries('upbit', 'market/all', answer, toUpbitMarket)
}

/**
 * Reads Binance's raw answer to `exchangeInfo`. A bad entry is left out.
 * @throws KimchiError `KIMCHI_ERR_CATALOGUE` when it has no list of symbols, or no entry of it can be read
 * @see docs/exchanges.md#binance-rest
 */
export function parseBinanceSymbols(answer: unknown): Listing<BinanceMarket> {
  const symbols = isFields(answer) ? answer.symbols : answer
  return readEntries('binance', 'exchangeInfo symbols', symbols, toBinanceMarket)
}

/**
 * Refuses a listing that cannot be true, so that the caller keeps the one before.
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

function readEntries<M>(
  exchange: Exchange,
  field: string,
  answer: unknown,
  toMarket: (entry: Fields) => Entry<M>,
): Listing<M> {
  if (!Array.isArray(answer)) {
    throw new KimchiError(
      'KIMCHI_ERR_CATALOGUE',
      `${exchange} ${field} must be a list, got: ${shown(answer)}`,
    )
  }
  const markets: M[] = []
  let isReadable = false
  for (const entry of answer) {
    const market = isFields(entry) ? toMarket(entry) : undefined
    if (market !== undefined) isReadable = true
    if (market !== undefined && market !== 'other') markets.push(market)
  }
  if (!isReadable) {
    throw new KimchiError(
      'KIMCHI_ERR_CATALOGUE',
      `${exchange} ${field} must hold markets, got: ${answer.length} entries, none of them readable`,
    )
  }
  return { exchange, markets }
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

/** A name fit for a line of text: trimmed, one form of Unicode, no control characters, not endless. */
function displayName(name: unknown): string | undefined {
  if (typeof name !== 'string') return undefined
  const plain = name.normalize('NFC').replace(/\p{C}/gu, '').trim()
  // By characters: half of a surrogate pair is no text.
  return plain === '' ? undefined : [...plain].slice(0, 80).join('')
}
