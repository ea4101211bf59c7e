import type { Clock, Coin, LatestTicks } from '@kimchi/core'
import {
  binanceProtocol,
  binanceSeed,
  type Feed,
  type FeedStatus,
  openFeed,
  upbitProtocol,
} from '@kimchi/feeds'
import type { Logger } from '@kimchi/runtime'
import type { Config } from '../config.ts'

/** Both exchanges' feeds of the same coins, writing into one {@link LatestTicks}. */
export interface ExchangeFeeds {
  status(): readonly FeedStatus[]
  /** Follows a change of the tracked coins without a reconnect. */
  setCoins(coins: readonly Coin[]): void
  close(): Promise<void>
}

/** What the feeds are opened with. */
export interface ExchangeFeedsOptions {
  readonly config: Config
  readonly coins: readonly Coin[]
  readonly latest: LatestTicks
  /** Called for each tick that was refused for its timestamp. */
  readonly onRefused: () => void
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
}

/** Opens one connection to each exchange. */
export function openExchangeFeeds(options: ExchangeFeedsOptions): ExchangeFeeds {
  const { config, latest, onRefused, clock, random, log } = options
  let { coins } = options
  const shared = {
    clock,
    random,
    log,
    onTick: (tick: Parameters<LatestTicks['record']>[0]) => {
      if (!latest.record(tick)) onRefused()
    },
    onLost: latest.lost.bind(latest),
  }
  const seed = binanceSeed({ clock, restUrl: config.BINANCE_REST_URL })
  const feeds: Record<'upbit' | 'binance', Feed> = {
    upbit: openFeed({
      ...shared,
      protocol: upbitProtocol(config.UPBIT_WS_URL),
      markets: coins.map(coin => coin.upbit),
    }),
    binance: openFeed({
      ...shared,
      protocol: binanceProtocol(config.BINANCE_WS_URL),
      markets: coins.map(coin => coin.binance),
      seed,
    }),
  }
  return {
    status: () => [feeds.upbit.status(), feeds.binance.status()],
    setCoins: next => {
      for (const exchange of ['upbit', 'binance'] as const) {
        const markets = next.map(coin => coin[exchange])
        feeds[exchange].setMarkets(markets)
        for (const coin of coins) {
          if (!markets.includes(coin[exchange])) latest.forget(exchange, coin[exchange])
        }
      }
      coins = next
    },
    close: async () => {
      await Promise.all([feeds.upbit.close(), feeds.binance.close()])
    },
  }
}
