import {
  type Coin,
  type Context,
  HOUR_MS,
  KimchiError,
  MINUTE_MS,
  type Milliseconds,
  messageOf,
} from '@kimchi/core'
import { type Catalogue, DENIALS, type Listings, matchCoins, Retry, type WantedCoins } from '@kimchi/feeds'
import type { KnownCoin } from '@kimchi/store'
import type { CatalogueNow } from './quarantine.ts'

/**
 * This many coins, or a quarter of them, whichever is more, may leave at once; more means a broken list, not a
 * delisting. They leave when two lists in a row lack them, since one answer may be short.
 */
const FEW_COINS = 4

/** A list is broken, too, that keeps less of the markets before: `COINS` may name so few that all of them may leave. */
const LEAST_SHARE = 0.75

export interface CatalogueOptions {
  readonly wanted: WantedCoins
  /**
   * Every coin that was ever published, as Redis has it; undefined while Redis can't be read. The feeds start
   * with them before, or without, the exchanges' lists.
   */
  readonly readPublished: () => Promise<readonly KnownCoin[] | undefined>
  readonly fetchListings: () => Promise<Listings>
  /** Called with the coins that are known at start, and after each refresh, changed or not. */
  readonly onCatalogue: (now: CatalogueNow) => void
  /** @default an hour */
  readonly refreshMs?: Milliseconds | undefined
}

export interface CatalogueStatus {
  /** Coins named in COINS that are unavailable now, with the reasons. */
  readonly missing: readonly string[]
  /** Why the exchanges' lists could not be fetched; undefined when they could. */
  readonly problem: string | undefined
}

/** The coins to follow, kept in step with the exchanges' lists. */
export class CatalogueRefresh {
  readonly #options: CatalogueOptions
  readonly #context: Context
  #coins: readonly Coin[] = []
  /** The exchanges' lists that were taken last. */
  #listings: Listings | undefined
  /** Coins that the last lists lacked. */
  #lacking: ReadonlySet<string> = new Set()
  /** Aborted to end the wait for the next refresh early. */
  #wait = new AbortController()
  #status: CatalogueStatus = { missing: [], problem: undefined }

  constructor(options: CatalogueOptions, context: Context) {
    this.#options = options
    this.#context = context
    context.signal.addEventListener('abort', () => this.#wait.abort(), { once: true })
  }

  /**
   * Takes the coins from Redis at first, from the lists as soon as they can be fetched, then every hour, until
   * the signal aborts. A list that can't be fetched, is empty, or suddenly lacks many coins leaves everything
   * as it is, and is tried again.
   * @throws KimchiError `KIMCHI_ERR_UNKNOWN_SYMBOL` when a coin that was asked for is denied, or was never
   * known to Redis nor to the lists at start
   */
  async run(): Promise<void> {
    const { clock, signal } = this.#context
    const retry = new Retry(this.#context)
    while (!signal.aborted) {
      try {
        await this.#refresh()
        retry.reset()
        await clock.wait(MINUTE_MS, signal)
        await clock.wait((this.#options.refreshMs ?? HOUR_MS) - MINUTE_MS, this.#wait.signal)
        this.#wait = new AbortController()
      } catch (thrown) {
        if (thrown instanceof KimchiError && thrown.code === 'KIMCHI_ERR_UNKNOWN_SYMBOL') throw thrown
        this.#status = { ...this.#status, problem: messageOf(thrown) }
        await retry.wait(thrown, 'catalogue not loaded, keeping the coins as they are')
      }
    }
  }

  /** Refreshes at once, or as soon as the lists are a minute old. */
  refreshNow(): void {
    this.#wait.abort()
  }

  status(): CatalogueStatus {
    return this.#status
  }

  #start(tracked: readonly Coin[], published: readonly KnownCoin[]): void {
    this.#coins = matchAgain(this.#options.wanted, tracked)
    if (this.#coins.length === 0) return
    this.#options.onCatalogue({ coins: this.#coins, published })
  }

  async #refresh(): Promise<void> {
    const { wanted, readPublished, fetchListings, onCatalogue } = this.#options
    // Read before the lists are fetched, so that a coin that another ingester tracks is in them unless delisted.
    const known = await readPublished()
    // The ingester may have been closed meanwhile, and then opens no feeds.
    this.#context.signal.throwIfAborted()
    const published = known ?? []
    const tracked = published.filter(({ order }) => order !== undefined)
    const isFirst = this.#listings === undefined
    // A published pair is not compared with the market again, which it may be far off by now.
    if (isFirst && wanted === 'all' && known === undefined)
      throw new KimchiError('KIMCHI_ERR_NOT_READY', 'Redis has not said yet which coins were published')
    if (isFirst && this.#coins.length === 0) this.#start(tracked, published)
    const next = await fetchListings()
    checkLengths(this.#listings ?? next, next)
    // Only Redis knows whether an unlisted coin was tracked before, and such a coin must not stop a restart.
    if (isFirst && known !== undefined) refuseUnknown(wanted, next, published)
    const present = [...tracked, ...this.#coins].map(({ symbol }) => symbol)
    const matched = matchCoins({ ...next, wanted, tracked: present })
    this.#checkLosses(matched)
    this.#accept(matched)
    this.#listings = next
    onCatalogue({ coins: matched.coins, published })
  }

  /** @throws KimchiError `KIMCHI_ERR_CATALOGUE` when many coins are gone, or one for the first time */
  #checkLosses({ coins }: Catalogue): void {
    const symbols = new Set(coins.map(({ symbol }) => symbol))
    const lost = this.#coins.map(({ symbol }) => symbol).filter(symbol => !symbols.has(symbol))
    const known = this.#coins.length
    const limit = Math.max(FEW_COINS, Math.floor(known / 4))
    if (lost.length > limit) {
      const problem = `must not lack more than ${limit} of the ${known} known coins, got: ${lost.length} missing`
      throw new KimchiError('KIMCHI_ERR_CATALOGUE', `listings ${problem}`)
    }
    const lackedBefore = this.#lacking
    this.#lacking = new Set(lost)
    if (lost.every(symbol => lackedBefore.has(symbol))) return
    throw new KimchiError('KIMCHI_ERR_CATALOGUE', `listings lack ${lost.join()}, and are asked for again`)
  }

  #accept(matched: Catalogue): void {
    const { coins, leftOut } = matched
    if (JSON.stringify(this.#coins) !== JSON.stringify(coins))
      this.#context.log.info({ coins: coins.length, leftOut: leftOut.length }, 'catalogue changed')
    this.#coins = coins
    const wantedByName = this.#options.wanted === 'all' ? [] : leftOut
    const missing = wantedByName.map(({ symbol, reason }) => `${symbol} (${reason})`)
    // While Redis can't be read, an unknown coin in COINS does not stop a start; the operator must see it.
    if (missing.length > 0 && missing.join() !== this.#status.missing.join())
      this.#context.log.warn({ missing }, `COINS that are not tracked: ${missing.join(', ')}`)
    this.#status = { missing, problem: undefined }
  }
}

/** @throws KimchiError `KIMCHI_ERR_CATALOGUE` when a list has lost more than a quarter of its markets */
function checkLengths(before: Listings, now: Listings): void {
  for (const exchange of ['upbit', 'binance'] as const) {
    const [count, countBefore] = [now[exchange].length, before[exchange].length]
    if (count >= countBefore * LEAST_SHARE) continue
    const least = `must have three quarters of the ${countBefore} markets before`
    throw new KimchiError('KIMCHI_ERR_CATALOGUE', `${exchange} list ${least}, got: ${count}`)
  }
}

/** The tracked coins that COINS names and that today's table of pairs still allows. */
function matchAgain(wanted: WantedCoins, tracked: readonly Coin[]): readonly Coin[] {
  const upbit = tracked.map(({ symbol, name, upbit: market }) => ({ market, asset: symbol, name }))
  const binance = tracked.map(({ binance: market }) => {
    return { market, asset: market.replace(/USDT$/, ''), trading: true }
  })
  return matchCoins({ upbit, binance, wanted }).coins
}

/** Refuses unknown coins, but not one that was tracked before and has been delisted; denied ones always. */
function refuseUnknown(wanted: WantedCoins, listings: Listings, published: readonly Coin[]): void {
  if (wanted === 'all') return
  const past = new Set(published.map(({ symbol }) => symbol))
  const mustBeListed = wanted.filter(symbol => !past.has(symbol) || Object.hasOwn(DENIALS, symbol))
  const { leftOut } = matchCoins({ ...listings, wanted: mustBeListed })
  if (leftOut.length === 0) return
  const problems = leftOut.map(({ symbol, reason }) => `${symbol} cannot be tracked: ${reason}`)
  throw new KimchiError('KIMCHI_ERR_UNKNOWN_SYMBOL', `COINS: ${problems.join('; ')}`)
}
