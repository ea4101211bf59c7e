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
  binanceTradingPrices,
  type Feed,
  type FeedStatus,
  openFeed,
  type RestBases,
  upbitProtocol,
} from '@kimchi/feeds'
import type { Config } from '../config.ts'

/** Both exchanges' feeds of the same coins, writing into one {@link LatestTicks}. */
export interface ExchangeFeeds {
  /** Opens both feeds at first, then follows a change of the coins without a reconnect. */
  setCoins(coins: readonly Coin[]): void
  status(): FeedsStatus
  close(): Promise<void>
}

/** The status of one exchange's feed and of its ticks. */
export interface ExchangeStatus extends FeedStatus, LatestTicksStatus {}

/** The status of both feeds. */
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
  readonly restBases: RestBases
  readonly userAgent: string
  /** Called when an exchange refuses our subscription: its list may have changed. */
  readonly onRefused: () => void
}

/** Both feeds. They connect once {@link ExchangeFeeds.setCoins} is called. */
export function openExchangeFeeds(
  { config, latest, restBases, userAgent, onRefused }: ExchangeFeedsOptions,
  context: Omit<Context, 'signal'>,
): ExchangeFeeds {
  let coins: readonly Coin[] = []
  let feeds: Record<Exchange, Feed> | undefined
  const common = { userAgent, onRefused, sink: latest }
  const open = () => ({
    upbit: openFeed(
      {
        ...common,
        protocol: upbitProtocol(config.UPBIT_WS_URL),
        markets: coins.map(coin => coin.upbit),
      },
      context,
    ),
    binance: openFeed(
      {
        ...common,
        protocol: binanceProtocol(config.BINANCE_WS_URL),
        markets: coins.map(coin => coin.binance),
        askTradingPrices: binanceTradingPrices({ bases: restBases.binance, userAgent }, context),
      },
      context,
    ),
  })
  const change = (exchange: Exchange, before: readonly Coin[]) => {
    const markets = coins.map(coin => coin[exchange])
    feeds?.[exchange].setMarkets(markets)
    for (const coin of before) if (!markets.includes(coin[exchange])) latest.forget(exchange, coin[exchange])
  }
  const statusOf = (exchange: Exchange, feed: Feed) => {
    const { halted, ...ticks } = latest.status(exchange)
    const isNamed = (market: string) =>
      market === RATE_MARKET || coins.some(coin => coin[exchange] === market)
    return { ...feed.status(), ...ticks, halted: halted.filter(isNamed) }
  }
  return {
    setCoins: next => {
      const before = coins
      coins = next
      if (feeds === undefined) feeds = open()
      else for (const exchange of ['upbit', 'binance'] as const) change(exchange, before)
    },
    status: () => ({
      feeds: feeds ? [statusOf('upbit', feeds.upbit), statusOf('binance', feeds.binance)] : [],
      restBases: [restBases.upbit.status(), restBases.binance.status()],
    }),
    close: async () => {
      await Promise.all([feeds?.upbit.close(), feeds?.binance.close()])
    },
  }
}
