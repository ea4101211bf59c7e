import { type Coin, createLatestTicks } from '@kimchi/core'
import { openRestChild } from '@kimchi/feeds'
import { Admission } from './coins/quarantine.ts'
import { keepCoins } from './coins/refresh-catalogue.ts'
import { followCoins } from './coins/track-coins.ts'
import type { Context } from './context.ts'
import { type ExchangeFeeds, openExchangeFeeds } from './minute/exchange-feeds.ts'
import type { Store } from './open-store.ts'

/** Both exchanges, followed. */
export type Exchanges = ReturnType<typeof openExchanges>

/** Opens both exchanges: the catalogue decides which coins are followed, the feeds fill the latest ticks. */
export function openExchanges(context: Context, { readBoard, writer, state }: Store) {
  const { config, log, clock, random, signal, fail, refreshMs } = context
  const latest = createLatestTicks()
  const { UPBIT_REST_URL: upbitRestUrl, BINANCE_REST_URL: binanceRestUrl } = config
  const rest = openRestChild({ upbitRestUrl, binanceRestUrl, log })
  let feeds: ExchangeFeeds | undefined
  const onRefused = () => {
    state.counts.refusedTicks += 1
  }
  const onSubscribed = (coins: readonly Coin[]) => {
    if (feeds) feeds.setCoins(coins)
    else feeds = openExchangeFeeds({ config, coins, latest, onRefused, clock, random, log })
    state.feeds = () => feeds?.status() ?? []
  }
  const admission = new Admission({ admit: config.ADMIT, deny: config.DENY })
  const { follow, judge } = followCoins({ admission, state, writer, onSubscribed, onFatal: fail, log })
  const catalogue = keepCoins({
    wanted: config.COINS,
    known: async () => (await readBoard())?.coins,
    loadListings: rest.loadListings.bind(rest),
    onCatalogue: follow,
    onProblem: problem => {
      state.catalogueProblem = problem
    },
    refreshMs,
    clock,
    random,
    signal,
    log,
  })
  const close = () => Promise.all([feeds?.close(), rest.close()])
  return { latest, rest, admission, judge, catalogue, close }
}
