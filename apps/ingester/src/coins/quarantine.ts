import { type Coin, type EpochMinute, type PremiumE4, percentOf, type Sample } from '@kimchi/core'

/** A pair whose premium is further than 15 points off the market's median is not published. */
const FAR_OFF_E4: PremiumE4 = 150_000

/** A pair that joins a running list must stay within 15 points for this many minutes in a row. */
const HOLD_MINUTES = 30

/** With fewer coins than this there is no market to compare with; the table of pairs alone decides. */
const FEWEST_COINS = 5

/** A median of fewer premiums than this says nothing. */
const FEWEST_PREMIUMS = 3

/**
 * When pairs that were never published are released. `if-first-matches`: in the first minute that can be compared,
 * if their premium is within 15 points of the market's median then, else as with `after-30-minutes`: once it has
 * been for 30 minutes in a row.
 */
export type ReleaseRule = 'if-first-matches' | 'after-30-minutes'

/** The catalogue's coins, and which of them were published before. */
export interface CatalogueNow {
  readonly coins: readonly Coin[]
  /** Published by any ingester, now or in an earlier run: released without a comparison. */
  readonly published: readonly Coin[]
  /** For pairs that appear in this catalogue for the first time. */
  readonly releaseNew: ReleaseRule
}

export interface QuarantineOptions {
  /** The symbols that `ALLOW` names. */
  readonly allow: readonly string[]
  /** The symbols that `DENY` names. */
  readonly deny: readonly string[]
  /** Called when pairs were judged, before the samples that may be stored are returned. */
  readonly onJudged?: () => void
}

export type QuarantineStatus = ReturnType<Quarantine['status']>

/**
 * Decides which pairs of the catalogue may be published: two coins may share a ticker, and a premium far from
 * the market's median reveals such a pair. Quarantined pairs are subscribed and sampled, so that they can be
 * released. It has no clock: time is the minute of the samples.
 * @see docs/coins.md
 */
export class Quarantine {
  readonly #allow: ReadonlySet<string>
  readonly #deny: ReadonlySet<string>
  readonly #onJudged: () => void
  /** Pairs of the catalogue that may be published, whatever their premium, and the name of each one's coin. */
  #released: ReadonlyMap<string, string> = new Map()
  /** Pairs that are not released yet, with their matches so far. */
  #held = new Map<string, HeldPair>()
  #catalogue: readonly Coin[] = []
  #subscribed: readonly Coin[] = []

  constructor({ allow, deny, onJudged = () => {} }: QuarantineOptions) {
    this.#allow = new Set(allow)
    this.#deny = new Set(deny)
    this.#onJudged = onJudged
  }

  /** Coins to subscribe and sample: all but the denied ones. */
  get subscribed(): readonly Coin[] {
    return this.#subscribed
  }

  /** Coins to store and publish, in the catalogue's order. */
  get tracked(): readonly Coin[] {
    return this.#subscribed.filter(coin => this.#heldOf(coin) === undefined)
  }

  /** Coins of a first start that wait for their first comparison with the market. */
  get untested(): readonly Coin[] {
    return this.#subscribed.filter(coin => isUntested(this.#heldOf(coin)))
  }

  /**
   * Replaces the catalogue. A coin under another name may be another coin: one that is renamed while it is listed must
   * match the market once, and one that was not listed meanwhile is new.
   */
  follow({ coins, published, releaseNew }: CatalogueNow): void {
    this.#catalogue = coins
    this.#subscribed = coins
      .filter(({ symbol }) => !this.#deny.has(symbol))
      .map(coin => (this.#allow.has(coin.symbol) ? { ...coin, allowed: true } : coin))
    const hasEnoughCoins = this.#subscribed.length >= FEWEST_COINS
    const uncompared = this.#subscribed.filter(({ symbol }) => !hasEnoughCoins || this.#allow.has(symbol))
    const before = this.#released
    const known = new Set([...published.map(nameOf), ...[...before].map(([pair, name]) => `${pair} ${name}`)])
    const isReleased = (coin: Coin) => uncompared.includes(coin) || known.has(nameOf(coin))
    this.#released = new Map(this.#subscribed.filter(isReleased).map(coin => [pairOf(coin), coin.name]))
    const pairs = this.#subscribed.map(pairOf).filter(pair => !this.#released.has(pair))
    const ruleOf = (pair: string) => (before.has(pair) ? 'if-first-matches' : releaseNew)
    this.#held = new Map(pairs.map(pair => [pair, this.#held.get(pair) ?? newHeldPair(ruleOf(pair))]))
    this.#onJudged()
  }

  /**
   * Compares one minute's premiums with their median, and releases the pairs that have matched it long enough.
   * Returns the samples that may be stored. Each minute counts once.
   */
  judgeMinute(samples: readonly Sample[]): readonly Sample[] {
    const bySymbol = new Map(samples.map(sample => [sample.symbol, sample]))
    const median = this.#medianOf(bySymbol)
    if (median !== undefined) {
      for (const coin of this.#subscribed) {
        const sample = bySymbol.get(coin.symbol)
        if (sample !== undefined) this.#countMinute(coin, sample, Math.abs(sample.premiumE4 - median))
      }
    }
    this.#onJudged()
    const tracked = new Set(this.tracked.map(({ symbol }) => symbol))
    return samples.filter(({ symbol }) => tracked.has(symbol))
  }

  status() {
    const quarantined = this.#subscribed.flatMap(coin => {
      const held = this.#heldOf(coin)
      if (held === undefined || isUntested(held)) return []
      return [{ symbol: coin.symbol, reason: reasonOf(held) }]
    })
    const allow = [...new Set([...this.#allow, ...quarantined.map(({ symbol }) => symbol)])]
    return {
      /** How many coins are published. */
      tracked: this.tracked.length,
      /** Pairs of which nothing is stored or published for now, each with the reason as part of a sentence. */
      quarantined,
      /** The setting that publishes every quarantined pair at the next start; undefined while there is none. */
      allowSetting: quarantined.length === 0 ? undefined : `ALLOW=${allow.join(',')}`,
      /** What `ALLOW` names. */
      allowed: [...this.#allow],
      /** Symbols of the catalogue that `DENY` names. */
      denied: this.#catalogue.map(({ symbol }) => symbol).filter(symbol => this.#deny.has(symbol)),
    }
  }

  /** The median premium of the pairs that are not quarantined; undefined while fewer than half have one. */
  #medianOf(samples: ReadonlyMap<string, Sample>): PremiumE4 | undefined {
    const notQuarantined = [...this.tracked, ...this.untested]
    const premiums = notQuarantined.flatMap(({ symbol }) => samples.get(symbol)?.premiumE4 ?? [])
    if (premiums.length < FEWEST_PREMIUMS || premiums.length * 2 < notQuarantined.length) return undefined
    return premiums.sort((a, b) => a - b)[premiums.length >> 1]
  }

  #countMinute(coin: Coin, { minute }: Sample, off: PremiumE4): void {
    const pair = pairOf(coin)
    const held = this.#held.get(pair)
    if (held === undefined || minute <= held.minute) return
    held.minute = minute
    held.off = off
    held.matches = off <= FAR_OFF_E4 ? held.matches + 1 : 0
    if (held.matches < HOLD_MINUTES) return
    this.#released = new Map([...this.#released, [pair, coin.name]])
    this.#held.delete(pair)
  }

  #heldOf(coin: Coin): HeldPair | undefined {
    return this.#held.get(pairOf(coin))
  }
}

/** How near to the market a pair that is not released yet has been. */
interface HeldPair {
  /** Minutes in a row within 15 points of the median. */
  matches: number
  /** Its last distance from the median; undefined before the first comparison. */
  off: PremiumE4 | undefined
  /** The last minute that was counted. */
  minute: EpochMinute
}

/** A pair whose first match is enough begins one minute short, so that this match releases it. */
function newHeldPair(rule: ReleaseRule): HeldPair {
  const matches = rule === 'if-first-matches' ? HOLD_MINUTES - 1 : 0
  return { matches, off: undefined, minute: Number.NEGATIVE_INFINITY }
}

function isUntested(held: HeldPair | undefined): boolean {
  return held !== undefined && held.off === undefined && held.matches > 0
}

function reasonOf({ off, matches }: HeldPair): string {
  if (off === undefined) return 'new, no premium to judge by yet'
  if (matches === 0) return `premium ${percentOf(off).toFixed(2)} points off the market's median`
  return `premium agrees with the market's median for ${matches} of ${HOLD_MINUTES} minutes`
}

function nameOf(coin: Coin): string {
  return `${pairOf(coin)} ${coin.name}`
}

/** What tells a coin's pair of markets apart: the same ticker on other markets is another pair. */
export function pairOf({ symbol, upbit, binance }: Coin): string {
  return `${symbol} ${upbit} ${binance}`
}
