import type { Coin, Context, Exchange, LatestTicks, Market } from '@kimchi/core'
import {
  binanceProtocol,
  type Feed,
  type FeedStatus,
  type OpenSocket,
  openFeed,
  type RestClient,
  upbitProtocol,
} from '@kimchi/feeds'
import type { Config } from '../config.ts'

export interface FeedsStatus {
  /** Empty until the coins are known. */
  readonly feeds: readonly (FeedStatus & ReturnType<LatestTicks['status']>)[]
  readonly restBases: readonly FeedStatus['base'][]
}

/** What both feeds need besides the coins. */
export interface ExchangeFeedsOptions {
  readonly config: Pick<Config, 'UPBIT_WS_URL' | 'BINANCE_WS_URL'>
  readonly latest: LatestTicks
  readonly rest: Pick<RestClient, 'bases' | 'fetchTradingPrices'>
  readonly userAgent: string
  /** @default real WebSockets */
  readonly openSocket?: OpenSocket | undefined
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

  /** The first call opens both feeds; later calls change the subscriptions on the open connections. */
  setCoins(coins: readonly Coin[]): void {
    for (const exchange of ['upbit', 'binance'] as const) {
      const markets = marketsOf(coins, exchange)
      const feed = this.#feeds.get(exchange)
      if (feed === undefined) this.#feeds.set(exchange, this.#open(exchange, markets))
      else feed.setMarkets(markets)
    }
  }

  status(): FeedsStatus {
    const { latest, rest } = this.#options
    const { upbit, binance } = rest.bases
    return {
      feeds: [...this.#feeds].map(([exchange, feed]) => ({ ...feed.status(), ...latest.status(exchange) })),
      restBases: [upbit.status(), binance.status()],
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#feeds.values()].map(feed => feed.close()))
  }

  #open(exchange: Exchange, markets: readonly Market[]): Feed {
    const { config, latest, rest, userAgent, openSocket, onRefused } = this.#options
    const fetchTradingPrices = () => rest.fetchTradingPrices()
    const upbit = { protocol: upbitProtocol, bases: config.UPBIT_WS_URL }
    const binance = { protocol: binanceProtocol, bases: config.BINANCE_WS_URL, fetchTradingPrices }
    const own = exchange === 'upbit' ? upbit : binance
    return openFeed({ ...own, userAgent, openSocket, markets, sink: latest, onRefused }, this.#context)
  }
}

function marketsOf(coins: readonly Coin[], exchange: Exchange): readonly Market[] {
  return coins.map(coin => coin[exchange])
}
