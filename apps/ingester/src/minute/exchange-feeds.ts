import {
  type Coin,
  type Context,
  type Exchange,
  type LatestTicks,
  type LatestTicksStatus,
  RATE_MARKET,
} from '@kimchi/core'
import {
  type BasesStatus,
  binanceProtocol,
  type Feed,
  type FeedStatus,
  openFeed,
  type RestClient,
  upbitProtocol,
} from '@kimchi/feeds'
import type { Config } from '../config.ts'

/** The status of one exchange's feed and of its ticks. */
export interface ExchangeStatus extends FeedStatus, LatestTicksStatus {}

export interface FeedsStatus {
  /** Empty until the coins are known. */
  readonly feeds: readonly ExchangeStatus[]
  /** Where REST requests go. */
  readonly restBases: readonly BasesStatus[]
}

/** The bases in use, the streams' first. */
export function basesOf({ feeds, restBases }: FeedsStatus): readonly BasesStatus[] {
  return [...feeds.map(({ base }) => base), ...restBases]
}

/** What both feeds need besides the coins. */
export interface ExchangeFeedsOptions {
  readonly config: Pick<Config, 'UPBIT_WS_URL' | 'BINANCE_WS_URL'>
  readonly latest: LatestTicks
  readonly rest: Pick<RestClient, 'bases' | 'fetchTradingPrices'>
  readonly userAgent: string
  /** Called when an exchange refuses our subscription: its list may have changed. */
  readonly onRefused: () => void
}

/** Both exchanges' feeds of the same coins, writing into one {@link LatestTicks}. */
export class ExchangeFeeds {
  readonly #options: ExchangeFeedsOptions
  readonly #context: Omit<Context, 'signal'>
  #coins: readonly Coin[] = []
  #feeds: Record<Exchange, Feed> | undefined

  constructor(options: ExchangeFeedsOptions, context: Omit<Context, 'signal'>) {
    this.#options = options
    this.#context = context
  }

  /** Opens both feeds at first, then follows a change of the coins without a reconnect. */
  setCoins(coins: readonly Coin[]): void {
    const before = this.#coins
    this.#coins = coins
    if (this.#feeds === undefined) this.#feeds = this.#open()
    else for (const exchange of ['upbit', 'binance'] as const) this.#change(exchange, before)
  }

  status(): FeedsStatus {
    const feeds = this.#feeds
    const { upbit, binance } = this.#options.rest.bases
    return {
      feeds: feeds ? [this.#statusOf('upbit', feeds.upbit), this.#statusOf('binance', feeds.binance)] : [],
      restBases: [upbit.status(), binance.status()],
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#feeds?.upbit.close(), this.#feeds?.binance.close()])
  }

  #open(): Record<Exchange, Feed> {
    const { config, latest, rest, userAgent, onRefused } = this.#options
    const common = { userAgent, onRefused, sink: latest }
    const upbit = {
      ...common,
      protocol: upbitProtocol(config.UPBIT_WS_URL),
      markets: this.#markets('upbit'),
    }
    const binance = {
      ...common,
      protocol: binanceProtocol(config.BINANCE_WS_URL),
      markets: this.#markets('binance'),
      fetchTradingPrices: () => rest.fetchTradingPrices(),
    }
    return { upbit: openFeed(upbit, this.#context), binance: openFeed(binance, this.#context) }
  }

  #change(exchange: Exchange, before: readonly Coin[]): void {
    const markets = this.#markets(exchange)
    this.#feeds?.[exchange].setMarkets(markets)
    for (const coin of before)
      if (!markets.includes(coin[exchange])) this.#options.latest.forget(exchange, coin[exchange])
  }

  #markets(exchange: Exchange): string[] {
    return this.#coins.map(coin => coin[exchange])
  }

  #statusOf(exchange: Exchange, feed: Feed): ExchangeStatus {
    const { halted, ...ticks } = this.#options.latest.status(exchange)
    const markets = this.#markets(exchange)
    const isNamed = (market: string) => market === RATE_MARKET || markets.includes(market)
    return { ...feed.status(), ...ticks, halted: halted.filter(isNamed) }
  }
}
