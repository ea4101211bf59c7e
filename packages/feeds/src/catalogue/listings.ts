import { KimchiError } from '@kimchi/core'
import { type Fields, isFields, shown } from '../feed/parse-frame.ts'

/** One market of Upbit in KRW, as `market/all` lists it. */
export interface UpbitListing {
  /** `KRW-BTC` */
  readonly market: string
  /** `BTC` */
  readonly asset: string
  /** Upbit's English name, or the ticker where it has none. */
  readonly name: string
}

/** One market of Binance in USDT, as `exchangeInfo` lists it. */
export interface BinanceListing {
  /** `BTCUSDT` */
  readonly market: string
  /** `BTC` */
  readonly asset: string
  /** Whether it trades now. Binance keeps listing a market that does not, with its last price, for years. */
  readonly trading: boolean
}

export interface Listings {
  readonly upbit: readonly UpbitListing[]
  readonly binance: readonly BinanceListing[]
}

/**
 * The KRW markets in Upbit's raw answer to `market/all`. A bad entry is left out.
 * @throws KimchiError `KIMCHI_ERR_CATALOGUE` when it has none
 * @see docs/exchanges.md#upbit-rest
 */
export function parseUpbitListings(answer: unknown): readonly UpbitListing[] {
  return toListings('upbit market/all', answer, toUpbitListing)
}

/**
 * The USDT markets in Binance's raw answer to `exchangeInfo`. A bad entry is left out.
 * @throws KimchiError `KIMCHI_ERR_CATALOGUE` when it has none
 * @see docs/exchanges.md#binance-rest
 */
export function parseBinanceListings(answer: unknown): readonly BinanceListing[] {
  const symbols = isFields(answer) ? answer.symbols : answer
  return toListings('binance exchangeInfo symbols', symbols, toBinanceListing)
}

/** @param toListing gives undefined for an entry that cannot be read, or is in another currency */
function toListings<L>(field: string, answer: unknown, toListing: (entry: Fields) => L | undefined) {
  const entries = Array.isArray(answer) ? answer : []
  const listings = entries.flatMap(entry => (isFields(entry) ? (toListing(entry) ?? []) : []))
  if (listings.length > 0) return listings
  const got = Array.isArray(answer) ? `${answer.length} entries, none of them usable` : shown(answer)
  throw new KimchiError('KIMCHI_ERR_CATALOGUE', `${field} must be a list of markets, got: ${got}`)
}

function toUpbitListing({ market, english_name: englishName }: Fields): UpbitListing | undefined {
  if (typeof market !== 'string') return undefined
  const [quote = '', asset = '', ...rest] = market.split('-')
  if (quote !== 'KRW' || asset === '' || rest.length > 0) return undefined
  return { market, asset, name: displayName(englishName) ?? asset }
}

function toBinanceListing(entry: Fields): BinanceListing | undefined {
  const { symbol: market, baseAsset: asset, quoteAsset: quote, status } = entry
  if (typeof market !== 'string' || typeof asset !== 'string' || typeof status !== 'string') return undefined
  if (quote !== 'USDT' || asset === '' || market !== `${asset}${quote}`) return undefined
  return { market, asset, trading: status === 'TRADING' && entry.isSpotTradingAllowed !== false }
}

/** A name fit for a line of text: trimmed, in NFC, without control characters, at most 80 characters long. */
function displayName(name: unknown): string | undefined {
  if (typeof name !== 'string') return undefined
  const plain = name.normalize('NFC').replace(/\p{C}/gu, '').trim()
  // By characters: slicing the string could cut a surrogate pair in half.
  return plain === '' ? undefined : [...plain].slice(0, 80).join('')
}
