import { KimchiError } from '@kimchi/core'
import { type Fields, isFields, shown } from '../feed/parse-frame.ts'

/** A list is broken when it keeps a smaller share than this of the markets that the last one had. */
const LEAST_SHARE = 0.75

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
 * @throws KimchiError `KIMCHI_ERR_CATALOGUE` when it is no list, or no entry of it can be read
 * @see docs/exchanges.md#upbit-rest
 */
export function parseUpbitListings(answer: unknown): readonly UpbitListing[] {
  return toListings('upbit market/all', answer, toUpbitListing)
}

/**
 * The USDT markets in Binance's raw answer to `exchangeInfo`. A bad entry is left out.
 * @throws KimchiError `KIMCHI_ERR_CATALOGUE` when it has no list of symbols, or no entry of it can be read
 * @see docs/exchanges.md#binance-rest
 */
export function parseBinanceListings(answer: unknown): readonly BinanceListing[] {
  const symbols = isFields(answer) ? answer.symbols : answer
  return toListings('binance exchangeInfo symbols', symbols, toBinanceListing)
}

/**
 * Refuses implausible lists, so that the caller keeps those before.
 * @param before undefined when there were none
 * @throws KimchiError `KIMCHI_ERR_CATALOGUE` when one is empty or has lost more than a quarter of the markets
 *   before: an exchange never delists so many within an hour
 */
export function checkListings(before: Listings | undefined, now: Listings): void {
  for (const exchange of ['upbit', 'binance'] as const) {
    const [count, countBefore] = [now[exchange].length, before?.[exchange].length ?? 0]
    if (count > 0 && count >= countBefore * LEAST_SHARE) continue
    const least = `must have at least three quarters of the ${countBefore} markets before`
    throw new KimchiError('KIMCHI_ERR_CATALOGUE', `${exchange} list ${least}, got: ${count}`)
  }
}

/** A listing, `other` for one in another currency, or undefined for an entry that cannot be read. */
type Entry<L> = L | 'other' | undefined

function toListings<L>(field: string, answer: unknown, toListing: (entry: Fields) => Entry<L>): readonly L[] {
  const entries = Array.isArray(answer) ? answer : []
  const listings = entries.map(entry => (isFields(entry) ? toListing(entry) : undefined))
  if (listings.some(listing => listing !== undefined))
    return listings.filter(listing => listing !== undefined && listing !== 'other') as L[]
  const got = Array.isArray(answer) ? `${answer.length} entries, none of them readable` : shown(answer)
  throw new KimchiError('KIMCHI_ERR_CATALOGUE', `${field} must be a list of markets, got: ${got}`)
}

function toUpbitListing({ market, english_name: englishName }: Fields): Entry<UpbitListing> {
  if (typeof market !== 'string') return undefined
  const [quote = '', asset = '', ...rest] = market.split('-')
  if (quote === '' || asset === '' || rest.length > 0) return undefined
  if (quote !== 'KRW') return 'other'
  return { market, asset, name: displayName(englishName) ?? asset }
}

function toBinanceListing(entry: Fields): Entry<BinanceListing> {
  const { symbol: market, baseAsset: asset, quoteAsset: quote, status } = entry
  if (typeof market !== 'string' || typeof asset !== 'string' || typeof status !== 'string') return undefined
  if (asset === '' || market !== `${asset}${quote}`) return undefined
  if (quote !== 'USDT') return 'other'
  return { market, asset, trading: status === 'TRADING' && entry.isSpotTradingAllowed !== false }
}

/** A name fit for a line of text: trimmed, in NFC, without control characters, at most 80 characters long. */
function displayName(name: unknown): string | undefined {
  if (typeof name !== 'string') return undefined
  const plain = name.normalize('NFC').replace(/\p{C}/gu, '').trim()
  // By characters: slicing the string could cut a surrogate pair in half.
  return plain === '' ? undefined : [...plain].slice(0, 80).join('')
}
