import type { Coin, Context, Exchange, LatestTicks, Market } from '@kimchi/core'
import {
  binanceProtocol,
  type Doors,
  type Feed,
  type FeedStatus,
  openFeed,
  type RestClient,
  upbitProtocol,
} from '@kimchi/feeds'

/** Empty until the coins are known. */
export type FeedsStatus = readonly (FeedStatus & ReturnType<LatestTicks['status']>)[]

/** What both feeds need besides the coins. */
export interface ExchangeFeedsOptions {
  readonly latest: LatestTicks
  readonly doors: Doors
  readonly rest: Pick<RestClient, 'fetchTradingPrices'>
  /** Called when an exchange refuses our subscription: its list may have changed. */
  readonly onRefused: () => void
}

/** Both exchanges' feeds of the same coins, writing into one {@link LatestTicks}. */
export class ExchangeFeeds {
  readonly #options: ExchangeFeedsOptions
  readonly #context: Omit<Context, 'signal'>
  readonly #feeds = new Map<Exchange, Feed>()

  constructor(options: ExchangeFeedsOptions, context: Omit<Context, 'signal'>) {
    this.#options = options
    this.#context = context
  }

  /** The first call opens both feeds; later calls have each open a connection that takes the new list. */
  setCoins(coins: readonly Coin[]): void {
    for (const exchange of ['upbit', 'binance'] as const) {
      const markets = coins.map(coin => coin[exchange])
      const feed = this.#feeds.get(exchange)
      if (feed === undefined) this.#feeds.set(exchange, this.#open(exchange, markets))
      else feed.setMarkets(markets)
    }
  }

  status(): FeedsStatus {
    const { latest } = this.#options
    return [...this.#feeds].map(([exchange, feed]) => ({ ...feed.status(), ...latest.status(exchange) }))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#feeds.values()].map(feed => feed.close()))
  }

  #open(exchange: Exchange, markets: readonly Market[]): Feed {
    const { latest, doors, rest, onRefused } = this.#options
    const fetchTradingPrices = (signal?: AbortSignal) => rest.fetchTradingPrices(signal)
    const own =
      exchange === 'upbit' ? { protocol: upbitProtocol } : { protocol: binanceProtocol, fetchTradingPrices }
    return openFeed({ ...own, door: doors[exchange], markets, sink: latest, onRefused }, this.#context)
  }
}
