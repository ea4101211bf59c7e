import { type Coin, type Context, HOUR_MS, KimchiError, type Milliseconds, messageOf } from '@kimchi/core'
import { type Catalogue, checkListing, DENIALS, type Listings, matchCoins, retryDelay } from '@kimchi/feeds'
import type { KnownCoin } from '@kimchi/store'
import type { WantedCoins } from '../config.ts'
import type { CatalogueNow } from './quarantine.ts'

/** So many of the coins may leave at once, or a quarter of them; more is a broken list, not a delisting. */
const FEW_COINS = 4

/** How soon a Redis that could not be asked at the start is asked again. */
const ASK_AGAIN_MS: Milliseconds = 10_000

/** How a catalogue is kept. */
export interface CatalogueOptions {
  readonly wanted: WantedCoins
  /**
   * Every coin that Redis knows, those no longer tracked included; undefined when Redis can't be asked. Known
   * coins let the feeds start before, or without, the exchanges' lists.
   */
  readonly known: () => Promise<readonly KnownCoin[] | undefined>
  readonly loadListings: (signal: AbortSignal) => Promise<Listings>
  /** Called with the coins that are known at start, and after each refresh, changed or not. */
  readonly onCatalogue: (now: RefreshedCatalogue) => void
  /** @default an hour */
  readonly refreshMs?: Milliseconds | undefined
}

/** The catalogue, and what led to it. */
export interface RefreshedCatalogue extends CatalogueNow {
  /** Symbols of coins that were tracked, or were in the catalogue, until now. */
  readonly before: readonly string[]
}

/** What a catalogue says of itself. */
export interface CatalogueStatus {
  /** How many coins it holds; undefined until it is known. */
  readonly coins: number | undefined
  /** Coins named in COINS that are unavailable now, with the reasons. */
  readonly missing: readonly string[]
  /** Why the exchanges' lists could not be loaded; undefined when they could. */
  readonly problem: string | undefined
}

/** The coins to follow, kept in step with the exchanges' lists. */
export interface CatalogueRefresh {
  /**
   * Reads the coins from Redis at once, from the lists as soon as they can be loaded, then every hour, until
   * the signal aborts. A list that can't be loaded, is empty, or suddenly lacks many coins leaves everything
   * as it is, and is tried again.
   * @throws KimchiError `KIMCHI_ERR_UNKNOWN_SYMBOL` when a coin that was asked for is denied, or was never
   * known to Redis nor to the lists at start
   */
  run(): Promise<void>
  status(): CatalogueStatus
}

/** A {@link CatalogueRefresh} that has not read anything yet. */
export function createCatalogueRefresh(options: CatalogueOptions, context: Context): CatalogueRefresh {
  const { wanted, known, loadListings, onCatalogue, refreshMs = HOUR_MS } = options
  const { clock, random, signal, log } = context
  let coins: readonly Coin[] = []
  let listings: Listings | undefined
  /** Whether the pairs of the start have been compared with what Redis knows. */
  let isStarted = false
  let status: CatalogueStatus = { coins: undefined, missing: [], problem: undefined }

  const start = (stored: readonly KnownCoin[]) => {
    coins = storedCoins(wanted, stored.filter(isTracked))
    if (coins.length === 0) return
    status = { ...status, coins: coins.length }
    onCatalogue({ before: [], coins, tracked: coins, newcomers: 'hold' })
  }
  const refresh = async (stored: readonly KnownCoin[]) => {
    // Asked before the lists, so that a coin that another ingester tracks is in them unless it has left.
    const inRedis = await known()
    const tracked = inRedis?.filter(isTracked) ?? []
    const next = await loadListings(signal)
    checkListing(listings?.upbit.markets.length ?? 0, next.upbit)
    checkListing(listings?.binance.markets.length ?? 0, next.binance)
    if (listings === undefined) refuseUnknown(wanted, next, stored)
    const present = [...tracked, ...coins].map(({ symbol }) => symbol)
    const matched = matchCoins({ ...next, wanted, strict: false, known: present })
    checkLosses(coins, matched)
    const isKnown = inRedis !== undefined || wanted !== 'all'
    const atFirst = isKnown ? atStart(wanted, matched.coins, tracked) : 'wait'
    const newcomers = isStarted ? 'hold' : atFirst
    isStarted ||= isKnown
    if (JSON.stringify(coins) !== JSON.stringify(matched.coins))
      log.info({ coins: matched.coins.length, leftOut: matched.leftOut.length }, 'catalogue changed')
    listings = next
    coins = matched.coins
    status = { coins: coins.length, missing: missingOf(wanted, matched), problem: undefined }
    onCatalogue({ coins, tracked, newcomers, before: present })
  }
  return {
    run: async () => {
      const stored = (await known()) ?? []
      start(stored)
      for (let failures = 0; !signal.aborted; ) {
        try {
          await refresh(stored)
          failures = 0
          await clock.wait(isStarted ? refreshMs : Math.min(refreshMs, ASK_AGAIN_MS), signal)
        } catch (thrown) {
          if (signal.aborted) return
          if (listings === undefined && isUnknownSymbol(thrown)) throw thrown
          status = { ...status, problem: messageOf(thrown) }
          log.warn({ err: thrown }, 'listings not loaded, keeping the coins as they are')
          await clock.wait(retryDelay(failures++, random, thrown), signal)
        }
      }
    },
    status: () => status,
  }
}

function isTracked({ order }: KnownCoin): boolean {
  return order !== undefined
}

function isUnknownSymbol(thrown: unknown): boolean {
  return thrown instanceof KimchiError && thrown.code === 'KIMCHI_ERR_UNKNOWN_SYMBOL'
}

/** The stored coins that were asked for and that today's table of pairs would still make. */
function storedCoins(wanted: WantedCoins, stored: readonly Coin[]): readonly Coin[] {
  const upbit = stored.map(({ symbol, name, upbit: market }) => ({
    market,
    base: symbol,
    name,
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
    `listings must not lack more than a quarter of the ${coins.length} coins before, got: ${lost} missing`,
  )
}

/**
 * A start that knows few of its coins is a first start; coins that are asked for by name are no surprise
 * either.
 */
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
