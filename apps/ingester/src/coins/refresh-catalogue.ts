import { type Clock, type Coin, HOUR_MS, KimchiError, type Milliseconds, messageOf } from '@kimchi/core'
import { type Catalogue, checkListing, DENIALS, type Listings, matchCoins, retryDelay } from '@kimchi/feeds'
import type { Logger } from '@kimchi/runtime'
import type { KnownCoin } from '@kimchi/store'
import type { WantedCoins } from '../config.ts'
import type { CatalogueNow } from './quarantine.ts'

/** So many of the coins may leave at once, or a quarter of them; more is a broken list, not a delisting. */
const FEW_COINS = 4

/** What keeping the tracked coins needs. */
export interface KeepCoinsOptions {
  readonly wanted: WantedCoins
  /**
   * Every coin that Redis knows, those no longer tracked included; undefined when Redis can't be asked. Known coins let the feeds start
   * before, or without, the exchanges' lists.
   */
  readonly known: () => Promise<readonly KnownCoin[] | undefined>
  readonly loadListings: (signal: AbortSignal) => Promise<Listings>
  /** Called with the coins that are known at start, and after each refresh, changed or not. */
  readonly onCatalogue: (now: KeptCatalogue) => void
  /** Called with the reason while the lists can't be had, and with undefined when they could. */
  readonly onProblem: (problem: string | undefined) => void
  /** @default an hour */
  readonly refreshMs?: Milliseconds | undefined
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal
  readonly log: Logger
}

/** The catalogue, and what led to it. */
export interface KeptCatalogue extends CatalogueNow {
  /** Symbols of coins that were tracked, or were in the catalogue, until now. */
  readonly before: readonly string[]
  /** Coins that were asked for by name and can't be had now, with the reasons. */
  readonly missing: readonly string[]
}

/**
 * Keeps the catalogue in step with the exchanges' market lists: from Redis at once, from the lists as soon as they can be had, then every
 * hour. A list that can't be had, is empty, or suddenly lacks many coins leaves everything as it is, and is tried again.
 * @throws KimchiError `KIMCHI_ERR_UNKNOWN_SYMBOL` when a coin that was asked for is denied, or was never known to Redis nor to the lists at start
 */
export async function keepCoins(options: KeepCoinsOptions): Promise<void> {
  const { wanted, clock, random, signal, log, refreshMs = HOUR_MS } = options
  const stored = (await options.known()) ?? []
  let coins = storedCoins(wanted, stored.filter(isTracked))
  let listings: Listings | undefined
  let failures = 0
  const none = { before: [], missing: [] }
  if (coins.length > 0) options.onCatalogue({ ...none, coins, tracked: coins, newcomers: 'hold' })
  while (!signal.aborted) {
    try {
      // Asked before the lists, so that a coin that another ingester tracks is in them unless it has left.
      const tracked = (await options.known())?.filter(isTracked) ?? []
      const next = await options.loadListings(signal)
      checkListing(listings?.upbit.markets.length ?? 0, next.upbit)
      checkListing(listings?.binance.markets.length ?? 0, next.binance)
      if (listings === undefined) refuseUnknown(wanted, next, stored)
      const matched = matchCoins({ ...next, wanted, strict: false })
      checkLosses(coins, matched)
      const newcomers = listings === undefined ? atStart(wanted, matched.coins, tracked) : 'hold'
      const before = [...tracked, ...coins].map(({ symbol }) => symbol)
      if (JSON.stringify(coins) !== JSON.stringify(matched.coins))
        log.info({ coins: matched.coins.length, leftOut: matched.leftOut.length }, 'catalogue changed')
      listings = next
      coins = matched.coins
      failures = 0
      options.onProblem(undefined)
      options.onCatalogue({ coins, tracked, newcomers, before, missing: missingOf(wanted, matched) })
      await clock.wait(refreshMs, signal)
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

function isTracked({ order }: KnownCoin): boolean {
  return order !== undefined
}

/** The stored coins that were asked for and that today's table of pairs would still make. */
function storedCoins(wanted: WantedCoins, stored: readonly Coin[]): readonly Coin[] {
  const upbit = stored.map(({ symbol, name, upbit: market }) => ({
    market,
    base: symbol,
    name,
    warning: false,
  }))
  const binance = stored.map(({ binance: market }) => ({
    market,
    base: market.replace(/USDT$/, ''),
    trading: true,
  }))
  return matchCoins({ upbit: { markets: upbit }, binance: { markets: binance }, wanted, strict: false }).coins
}

/** A coin that was tracked once may be gone without stopping a restart; a denied one never passes. */
function refuseUnknown(wanted: WantedCoins, listings: Listings, stored: readonly Coin[]): void {
  if (wanted === 'all') return
  const past = new Set(stored.map(({ symbol }) => symbol))
  const doubtful = wanted.filter(symbol => !past.has(symbol) || Object.hasOwn(DENIALS, symbol))
  matchCoins({ ...listings, wanted: doubtful })
}

function checkLosses(coins: readonly Coin[], matched: Catalogue): void {
  const symbols = new Set(matched.coins.map(({ symbol }) => symbol))
  const lost = coins.filter(({ symbol }) => !symbols.has(symbol)).length
  if (lost <= Math.max(FEW_COINS, coins.length / 4)) return
  throw new KimchiError(
    'KIMCHI_ERR_CATALOGUE',
    `market lists must not lack more than a quarter of the ${coins.length} coins before, got: ${lost} missing`,
  )
}

/** A start that knows few of its coins is a first start; coins that are asked for by name are no surprise either. */
function atStart(wanted: WantedCoins, coins: readonly Coin[], tracked: readonly Coin[]): 'test' | 'hold' {
  const symbols = new Set(tracked.map(({ symbol }) => symbol))
  const known = coins.filter(({ symbol }) => symbols.has(symbol)).length
  return wanted !== 'all' || known * 2 < coins.length ? 'test' : 'hold'
}

function missingOf(wanted: WantedCoins, { leftOut, unknown }: Catalogue): string[] {
  if (wanted === 'all') return []
  return [
    ...leftOut.map(({ symbol, reason }) => `${symbol} (${reason})`),
    ...unknown.map(symbol => `${symbol} (not on Upbit in KRW)`),
  ]
}
