import type { Coin, Context, LatestTicks, Tick } from '@kimchi/core'
import {
  binanceProtocol,
  binanceSeed,
  type Feed,
  type FeedStatus,
  openFeed,
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

/** What both feeds say of themselves. */
export interface FeedsStatus {
  /** Empty until the coins are known. */
  readonly feeds: readonly FeedStatus[]
  /** Ticks refused for their timestamp. */
  readonly refusedTicks: number
}

/** Both feeds; they connect when their coins are known. */
export function openExchangeFeeds(
  config: Config,
  latest: LatestTicks,
  context: Omit<Context, 'signal'>,
): ExchangeFeeds {
  const { clock } = context
  let refusedTicks = 0
  let coins: readonly Coin[] = []
  let feeds: Record<'upbit' | 'binance', Feed> | undefined
  const shared = {
    ...context,
    onTick: (tick: Tick) => {
      if (!latest.record(tick)) refusedTicks += 1
    },
    onLost: latest.lost.bind(latest),
  }
  const open = () => ({
    upbit: openFeed({
      ...shared,
      protocol: upbitProtocol(config.UPBIT_WS_URL),
      markets: coins.map(coin => coin.upbit),
    }),
    binance: openFeed({
      ...shared,
      protocol: binanceProtocol(config.BINANCE_WS_URL),
      markets: coins.map(coin => coin.binance),
      seed: binanceSeed({ clock, restUrl: config.BINANCE_REST_URL }),
    }),
  })
  const change = (exchange: 'upbit' | 'binance', before: readonly Coin[]) => {
    const markets = coins.map(coin => coin[exchange])
    feeds?.[exchange].setMarkets(markets)
    for (const coin of before) if (!markets.includes(coin[exchange])) latest.forget(exchange, coin[exchange])
  }
  return {
    setCoins: next => {
      const before = coins
      coins = next
      if (feeds === undefined) feeds = open()
      else for (const exchange of ['upbit', 'binance'] as const) change(exchange, before)
    },
    status: () => ({ feeds: feeds ? [feeds.upbit.status(), feeds.binance.status()] : [], refusedTicks }),
    close: async () => {
      await Promise.all([feeds?.upbit.close(), feeds?.binance.close()])
    },
  }
}
