import {
  type Coin,
  type Context,
  type Exchange,
  type LatestTicks,
  type LatestTicksStatus,
  PACEMAKERS,
  type Tick,
} from '@kimchi/core'
import {
  type BasesStatus,
  binanceProtocol,
  binanceTradingPrices,
  type Feed,
  type FeedStatus,
  openFeed,
  type RestBases,
  type RestChild,
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
  /** Ticks refused for their timestamp. */
  readonly refusedTicks: number
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
  readonly rest: Pick<RestChild, 'fetchTrading'>
  /** Called when an exchange refuses a market that its list names: the list may have changed. */
  readonly onRefusedMarkets: () => void
}

/** Both feeds. They connect once {@link ExchangeFeeds.setCoins} is called. */
export function openExchangeFeeds(
  { config, latest, restBases, userAgent, rest, onRefusedMarkets }: ExchangeFeedsOptions,
  context: Omit<Context, 'signal'>,
): ExchangeFeeds {
  let refusedTicks = 0
  let coins: readonly Coin[] = []
  let feeds: Record<Exchange, Feed> | undefined
  const common = {
    userAgent,
    onRefusedMarkets,
    onTick: (tick: Tick) => {
      if (!latest.record(tick)) refusedTicks += 1
    },
    onInterrupted: latest.interrupted.bind(latest),
    onTradable: latest.setTradable.bind(latest),
  }
  const fetchTrading = (signal: AbortSignal) => rest.fetchTrading(signal)
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
        askTradingPrices: binanceTradingPrices(
          { bases: restBases.binance, userAgent, fetchTrading },
          context,
        ),
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
    const { watermark, halted } = latest.status(exchange)
    const isNamed = (market: string) =>
      !PACEMAKERS[exchange].includes(market) || coins.some(coin => coin[exchange] === market)
    return { ...feed.status(), watermark, halted: halted.filter(isNamed) }
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
      refusedTicks,
    }),
    close: async () => {
      await Promise.all([feeds?.upbit.close(), feeds?.binance.close()])
    },
  }
}
