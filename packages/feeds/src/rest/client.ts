import { type Exchange, formatTimestamp, minuteStart } from '@kimchi/core'
import { type Listings, parseBinanceListings, parseUpbitListings } from '../catalogue/listings.ts'
import type { Doors } from '../door/door.ts'
import type { Want } from '../door/way.ts'
import type { Asked, HttpAnswer } from '../http.ts'
import { type CandlePage, type CandleRequest, readCandles, UnreadableCandles } from './candles.ts'
import { parseTradingPrices, type TradingPrices } from './trading-prices.ts'

/** ccxt, loaded once a process: it only builds paths. */
let loading: Promise<Ccxt> | undefined

type Ccxt = Awaited<ReturnType<typeof loadCcxt>>

/**
 * Where each exchange has candles, and how it is asked for some.
 * @see docs/exchanges.md#upbit-rest @see docs/exchanges.md#binance-rest
 */
const candlesAt: Readonly<Record<Exchange, (request: CandleRequest) => [endpoint: string, params: object]>> =
  {
    upbit: ({ market, count, last }) => {
      // `to` is exclusive on Upbit.
      const range = last === undefined ? {} : { to: `${formatTimestamp(last)}Z` }
      return ['candles/minutes/1', { market, count, ...range }]
    },
    binance: ({ market, count, last, first = last === undefined ? undefined : last - count + 1 }) => {
      const range = {
        ...(first === undefined ? {} : { startTime: minuteStart(first - 1) }),
        ...(last === undefined ? {} : { endTime: minuteStart(last) - 1 }),
      }
      return ['klines', { symbol: market, interval: '1m', limit: count, ...range }]
    },
  }

/**
 * Lists, candles and trading prices of both exchanges, by their raw endpoints: ccxt's unified symbols would rename
 * coins.
 * @see docs/exchanges.md#symbol-mapping
 */
export class RestClient {
  readonly #doors: Doors

  constructor(doors: Doors) {
    this.#doors = doors
  }

  /**
   * What both exchanges list now.
   * @throws KimchiError `KIMCHI_ERR_CATALOGUE` for an answer of the wrong shape
   */
  async fetchListings(want: Want = { isUrgent: true }): Promise<Listings> {
    const { upbit, binance } = this.#doors
    const ccxt = await this.#endpoints()
    const all = ccxt.upbit('market/all', { is_details: 'true' })
    const info = ccxt.binance('exchangeInfo', { showPermissionSets: 'false' })
    // One after the other, so that none waits at its door when the other has failed.
    const krw = await upbit.get(all, ({ json }) => parseUpbitListings(json), want)
    return { upbit: krw, binance: await binance.get(info, ({ json }) => parseBinanceListings(json), want) }
  }

  /**
   * 1-minute candles, by one request. A minute without a trade is absent on Upbit, so that the page reaches back
   * further, and has volume 0 on Binance. Where each base has given a page with rows that cannot be read, the last one.
   * @throws UnreadableCandles for a page of which no row can be read
   */
  fetchCandles(request: CandleRequest, want?: Want): Promise<CandlePage> {
    const read = (json: unknown): CandlePage => ({ candles: readCandles(json, request) })
    return this.fetchRows(request, read, want).catch(thrown => {
      if (thrown instanceof UnreadableCandles && thrown.candles.length > 0) return thrown
      throw thrown
    })
  }

  /** The answer to such a request, read otherwise. */
  async fetchRows<T>(request: CandleRequest, read: (json: unknown) => T, want?: Want): Promise<T> {
    const { exchange } = request
    const [endpoint, params] = candlesAt[exchange](request)
    const ccxt = await this.#endpoints()
    return this.#doors[exchange].get(ccxt[exchange](endpoint, params), ({ json }) => read(json), want)
  }

  /** The markets of Binance that trade now, by one call of weight 4. @param signal frees its place when it aborts */
  fetchTradingPrices(signal?: AbortSignal): Promise<{ asked: Asked; trading: TradingPrices }> {
    const path = '/api/v3/ticker/price?symbolStatus=TRADING'
    const read = ({ asked, json }: HttpAnswer) => ({ asked, trading: parseTradingPrices(json) })
    return this.#doors.binance.get(path, read, { isUrgent: true, ...(signal && { signal }) })
  }

  /** The first list or candle loads ccxt, so that no stream waits for it. */
  #endpoints(): Promise<Ccxt> {
    loading ??= loadCcxt()
    return loading
  }
}

/**
 * The path of a request to a raw endpoint of each exchange, as ccxt writes it. The request is ours: ccxt's own lose
 * status, `Retry-After` and limits.
 */
async function loadCcxt() {
  // ccxt exports all its exchanges or none, and loading a hundred of them costs 50 MB and 0.3 s.
  const entry = import.meta.resolve('ccxt')
  const load = async <E extends Exchange>(exchange: E): Promise<typeof import('ccxt')[E]> =>
    (await import(new URL(`./src/${exchange}.js`, entry).href)).default
  const [Upbit, Binance] = await Promise.all([load('upbit'), load('binance')])
  const [upbit, binance] = [new Upbit(), new Binance()]
  upbit.urls.api = { public: '', private: '' }
  binance.urls.api = { public: '/api/v3' }
  return {
    upbit: (endpoint: string, params = {}) => upbit.sign(endpoint, 'public', 'GET', params).url,
    binance: (endpoint: string, params = {}) => binance.sign(endpoint, 'public', 'GET', params).url,
  }
}
