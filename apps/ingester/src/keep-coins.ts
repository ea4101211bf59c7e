import { type Clock, type Coin, HOUR_MS, KimchiError, type Milliseconds, messageOf } from '@kimchi/core'
import { checkListing, type Listings, matchCoins, retryDelay } from '@kimchi/feeds'
import type { Logger } from '@kimchi/runtime'
import type { WantedCoins } from './config.ts'

const REFRESH_MS: Milliseconds = HOUR_MS

/** What keeping the tracked coins needs. */
export interface KeepCoinsOptions {
  readonly wanted: WantedCoins
  /** Coins known from an earlier run, so that the feeds can start before, or without, the exchanges' lists. */
  readonly stored: readonly Coin[]
  readonly loadListings: (signal: AbortSignal) => Promise<Listings>
  /** Called with the tracked coins at first and whenever they change. */
  readonly onCoins: (coins: readonly Coin[]) => void
  /** Called with the reason while the lists can't be had, and with undefined when they could. */
  readonly onProblem: (problem: string | undefined) => void
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal
  readonly log: Logger
}

/**
 * Keeps the tracked coins in step with the exchanges' market lists: from storage at once, from the lists as soon as
 * they can be had, then every hour. A list that can't be had or looks broken leaves the coins as they are.
 * @throws KimchiError `KIMCHI_ERR_UNKNOWN_SYMBOL` when the lists don't know a coin that was asked for at start
 */
export async function keepCoins(options: KeepCoinsOptions): Promise<void> {
  const { wanted, stored, clock, random, signal, log } = options
  let coins = storedCoins(wanted, stored)
  let listings: Listings | undefined
  let failures = 0
  if (coins !== undefined) options.onCoins(coins)
  while (!signal.aborted) {
    try {
      const next = await options.loadListings(signal)
      checkListing(listings?.upbit.markets.length ?? 0, next.upbit)
      checkListing(listings?.binance.markets.length ?? 0, next.binance)
      const matched = matchCoins({ ...next, wanted, strict: listings === undefined })
      listings = next
      failures = 0
      options.onProblem(undefined)
      if (!isSame(coins, matched.coins)) {
        coins = matched.coins
        log.info({ coins: coins.length, leftOut: matched.leftOut.length }, 'tracked coins changed')
        options.onCoins(coins)
      }
      await clock.wait(REFRESH_MS, signal)
    } catch (thrown) {
      if (signal.aborted) return
      const isWrongAtStart =
        listings === undefined && thrown instanceof KimchiError && thrown.code === 'KIMCHI_ERR_UNKNOWN_SYMBOL'
      if (isWrongAtStart) throw thrown
      options.onProblem(messageOf(thrown))
      log.warn({ err: thrown }, 'market lists not loaded, keeping the coins as they are')
      await clock.wait(retryDelay(failures++, random, thrown), signal)
    }
  }
}

/** The stored coins that were asked for, in the order asked for; undefined unless all of them are stored. */
function storedCoins(wanted: WantedCoins, stored: readonly Coin[]): readonly Coin[] | undefined {
  if (wanted === 'all') return stored.length > 0 ? stored : undefined
  const bySymbol = new Map(stored.map(coin => [coin.symbol, coin]))
  const coins = wanted.flatMap(symbol => bySymbol.get(symbol) ?? [])
  return coins.length === wanted.length ? coins : undefined
}

function isSame(a: readonly Coin[] | undefined, b: readonly Coin[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
