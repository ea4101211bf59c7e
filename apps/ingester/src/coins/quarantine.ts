import { type Coin, type PremiumE4, percentOf, RATE_MARKET, type Sample } from '@kimchi/core'

/** A pair whose premium is further than 15 points off the market's median is not published. */
const FAR_OFF_E4: PremiumE4 = 150_000

/** With fewer coins than this there is no market to compare with; the table of pairs alone decides. */
const FEWEST_COINS = 5

/** The catalogue's coins, and which of them were published before. */
export interface CatalogueNow {
  readonly coins: readonly Coin[]
  /** Published by any ingester, now or in an earlier run: released without a comparison. */
  readonly published: readonly Coin[]
}

export interface QuarantineOptions {
  /** The symbols that `ALLOW` names. */
  readonly allow: readonly string[]
  /** The symbols that `DENY` names. */
  readonly deny: readonly string[]
  /** Called with the coins to publish when they have changed, before samples of theirs are returned. */
  readonly onTracked?: (coins: readonly Coin[]) => void
}

export type QuarantineStatus = ReturnType<Quarantine['status']>

/**
 * Decides which pairs of the catalogue may be published: two coins may share a ticker, and a premium far from
 * the market's median reveals such a pair. Quarantined pairs are subscribed and sampled until one comparison
 * releases them.
 * @see docs/coins.md
 */
export class Quarantine {
  readonly #allow: ReadonlySet<string>
  readonly #deny: ReadonlySet<string>
  readonly #onTracked: NonNullable<QuarantineOptions['onTracked']>
  /** The last comparison of each quarantined pair; undefined before the first. */
  #held: ReadonlyMap<string, string | undefined> = new Map()
  #subscribed: readonly Coin[] = []
  #tracked: readonly Coin[] = []

  constructor({ allow, deny, onTracked = () => {} }: QuarantineOptions) {
    this.#allow = new Set(allow)
    this.#deny = new Set(deny)
    this.#onTracked = onTracked
  }

  /** Coins to subscribe and sample: all but the denied ones. */
  get subscribed(): readonly Coin[] {
    return this.#subscribed
  }

  /** Coins to store and publish, in the catalogue's order. */
  get tracked(): readonly Coin[] {
    return this.#tracked
  }

  /** Replaces the catalogue. A coin under another name may be another coin, and is compared like a new one. */
  follow({ coins, published }: CatalogueNow): void {
    this.#subscribed = coins
      .filter(({ symbol }) => !this.#deny.has(symbol))
      .map(coin => (this.#allow.has(coin.symbol) ? { ...coin, allowed: true } : coin))
    const isMarket = this.#subscribed.length >= FEWEST_COINS
    const known = new Set([...published, ...this.#tracked].map(nameOf))
    const isReleased = (coin: Coin) => !isMarket || coin.allowed === true || known.has(nameOf(coin))
    const pairs = this.#subscribed.filter(coin => !isReleased(coin)).map(pairOf)
    this.#held = new Map(pairs.map(pair => [pair, this.#held.get(pair)]))
    this.#track()
  }

  /**
   * Compares one minute's premiums with their median, and releases the pairs that match it. Returns the samples that
   * may be stored.
   */
  judgeMinute(samples: readonly Sample[]): readonly Sample[] {
    const bySymbol = new Map(samples.map(sample => [sample.symbol, sample]))
    const median = this.#medianOf(samples)
    const held = new Map(this.#held)
    for (const coin of this.#subscribed) {
      const sample = bySymbol.get(coin.symbol)
      const pair = pairOf(coin)
      if (!held.has(pair) || sample === undefined || median === undefined) continue
      if (Math.abs(sample.premiumE4 - median) > FAR_OFF_E4) held.set(pair, reasonOf(coin, sample, median))
      else held.delete(pair)
    }
    this.#held = held
    this.#track()
    const tracked = new Set(this.tracked.map(({ symbol }) => symbol))
    return samples.filter(({ symbol }) => tracked.has(symbol))
  }

  status() {
    const quarantined = this.#subscribed.flatMap(coin => {
      const pair = pairOf(coin)
      return this.#held.has(pair) ? [{ symbol: coin.symbol, reason: this.#held.get(pair) }] : []
    })
    return {
      /** How many coins are published. */
      tracked: this.tracked.length,
      /** Pairs that are not published yet, and how they differ from the market; undefined before a comparison. */
      quarantined,
      /** The symbols that `ALLOW` names. */
      allowed: [...this.#allow],
    }
  }

  #track(): void {
    const before = this.#tracked
    this.#tracked = this.#subscribed.filter(coin => !this.#held.has(pairOf(coin)))
    if (JSON.stringify(this.#tracked) !== JSON.stringify(before)) this.#onTracked(this.#tracked)
  }

  /** The median premium of all pairs, published or not; undefined while fewer than half have one. */
  #medianOf(samples: readonly Sample[]): PremiumE4 | undefined {
    if (samples.length === 0 || samples.length * 2 < this.#subscribed.length) return undefined
    return samples.map(({ premiumE4 }) => premiumE4).sort((a, b) => a - b)[samples.length >> 1]
  }
}

function reasonOf({ upbit, binance }: Coin, sample: Sample, median: PremiumE4): string {
  const { premiumE4, upbitKrw, binanceUsdt, usdtKrw } = sample
  const [premium, middle] = [premiumE4, median].map(each => percentOf(each).toFixed(2))
  const prices = `${upbit} at ${upbitKrw}, ${binance} at ${binanceUsdt} and ${RATE_MARKET} at ${usdtKrw}`
  return `premium ${premium} % where the market's median is ${middle} %, by ${prices}`
}

function nameOf(coin: Coin): string {
  return `${pairOf(coin)} ${coin.name}`
}

/** Identifies a pair of markets: the same ticker on other markets is another pair. */
export function pairOf({ symbol, upbit, binance }: Coin): string {
  return `${symbol} ${upbit} ${binance}`
}
