import type { Context, Exchange, Milliseconds } from '@kimchi/core'
import { Bases } from '../bases.ts'
import { type Listings, parseBinanceListings, parseUpbitListings } from '../catalogue/listings.ts'
import type { TradingPrices } from '../feed/trading-status.ts'
import { fetchJson, type HttpAnswer } from '../http.ts'
import { Ban } from './ban.ts'
import { CANDLES, type CandlePage, type CandleRequest, readCandles } from './candles.ts'
import { parseTradingPrices } from './trading-prices.ts'

/** Where the exchanges answer, and who asks. */
export interface RestClientOptions {
  /** The part before `/v1`. */
  readonly upbit: string | readonly string[]
  /** The part before `/api/v3`. */
  readonly binance: string | readonly string[]
  readonly userAgent: string
  /** @default the platform's */
  readonly fetch?: typeof fetch | undefined
}

/** One for all clients of the process: it only writes paths. */
let loading: Promise<Ccxt> | undefined

type Ccxt = Awaited<ReturnType<typeof loadCcxt>>

/**
 * Lists, candles and trading prices of both exchanges, by their raw endpoints: ccxt's unified symbols would rename
 * coins. The caller keeps the exchanges' rate limits; while a refusal lasts that is about us, nobody asks. A request
 * goes to the next base where the one in use fails, and rejects with HttpError when the exchange refuses, else with
 * KimchiError.
 * @see docs/exchanges.md#symbol-mapping
 */
export class RestClient {
  readonly bases: Readonly<Record<Exchange, Bases>>
  readonly #bans: Readonly<Record<Exchange, Ban>>
  readonly #userAgent: string
  readonly #fetch: typeof fetch | undefined
  readonly #context: Pick<Context, 'clock' | 'signal'>

  constructor(
    { upbit, binance, userAgent, fetch }: RestClientOptions,
    context: Pick<Context, 'clock' | 'log' | 'signal'>,
  ) {
    this.bases = {
      upbit: new Bases('upbit', 'rest', upbit, context),
      binance: new Bases('binance', 'rest', binance, context),
    }
    this.#bans = { upbit: new Ban(context.clock), binance: new Ban(context.clock) }
    this.#userAgent = userAgent
    this.#fetch = fetch
    this.#context = context
  }

  /**
   * What both exchanges list now.
   * @throws KimchiError `KIMCHI_ERR_CATALOGUE` for an answer of the wrong shape
   */
  async fetchListings(): Promise<Listings> {
    const ccxt = await this.#endpoints()
    const all = ccxt.upbit('market/all', { is_details: 'true' })
    const info = ccxt.binance('exchangeInfo', { showPermissionSets: 'false' })
    const [upbit, binance] = await Promise.all([
      this.get('upbit', all, ({ json }) => parseUpbitListings(json)),
      this.get('binance', info, ({ json }) => parseBinanceListings(json)),
    ])
    return { upbit, binance }
  }

  /**
   * 1-minute candles, by one request. A minute without a trade is absent on Upbit, so that the page reaches back
   * further, and has volume 0 on Binance.
   * @throws UnreadableCandles for an answer of which not every row can be read, once each base has given one
   */
  async fetchCandles(request: CandleRequest): Promise<CandlePage> {
    const { exchange } = request
    const { path, paramsOf } = CANDLES[exchange]
    const ccxt = await this.#endpoints()
    return this.get(exchange, ccxt[exchange](path, paramsOf(request)), ({ json, headers }) => ({
      candles: readCandles(json, request),
      pauseMs: pauseMsOf(headers.get('remaining-req')),
    }))
  }

  /** The markets of Binance that trade now, by one call of weight 4. */
  fetchTradingPrices(): Promise<TradingPrices> {
    const path = '/api/v3/ticker/price?symbolStatus=TRADING'
    return this.get('binance', path, ({ json }) => parseTradingPrices(json))
  }

  /** One request. @param read takes what is wanted from the answer; another base is asked where it throws */
  get<T>(exchange: Exchange, path: string, read: (answer: HttpAnswer) => T): Promise<T> {
    const request = { exchange, userAgent: this.#userAgent, fetch: this.#fetch }
    return this.#bans[exchange].respect(() =>
      this.bases[exchange].request(async base =>
        read(await fetchJson(`${base}${path}`, request, this.#context)),
      ),
    )
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

/** Upbit says how many requests of a group it still accepts in this second. @see docs/exchanges.md#upbit-rest */
function pauseMsOf(remainingReq: string | null): Milliseconds | undefined {
  return /\bsec=0\b/.test(remainingReq ?? '') ? 1_000 : undefined
}
