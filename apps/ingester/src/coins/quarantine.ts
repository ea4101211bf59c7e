import { type Coin, type EpochMinute, type PremiumE4, percentOf, type Sample } from '@kimchi/core'

/** A pair whose premium is further than 15 points off the market's median is not published. */
const FAR_OFF_E4: PremiumE4 = 150_000

/** A pair that joins a running list must be nearer than that for this many minutes in a row. */
const PROBATION_MINUTES = 30

/** With fewer coins than this there is no market to compare with; the table of pairs alone decides. */
const FEWEST_COINS = 5

/** A median of fewer premiums than this says nothing. */
const FEWEST_PREMIUMS = 3

/**
 * What becomes of pairs that were never published: `test` publishes them if their first comparison with the
 * market finds them near it, `hold` once they have been near it for half an hour.
 */
export type Newcomers = 'test' | 'hold'

/** A pair of which nothing is stored or published for now. */
export interface QuarantinedPair {
  readonly symbol: string
  /** The reason, as part of a sentence. */
  readonly reason: string
}

/** The catalogue's coins, and which of them were published before. */
export interface CatalogueNow {
  readonly coins: readonly Coin[]
  /** Published by any ingester, now or in an earlier run: never judged again. */
  readonly published: readonly Coin[]
  readonly newcomers: Newcomers
}

export interface QuarantineStatus {
  /** How many coins are published. */
  readonly tracked: number
  readonly quarantined: readonly QuarantinedPair[]
  /** The setting that publishes every quarantined pair at the next start; undefined while there is none. */
  readonly release: string | undefined
  /** What `ALLOW` names. */
  readonly allowed: readonly string[]
  /** Symbols of the catalogue that `DENY` names. */
  readonly denied: readonly string[]
}

/**
 * Decides which pairs of the catalogue may be published: two coins may share a ticker, and a premium far from
 * the market's median reveals such a pair. Quarantined pairs are subscribed and sampled, so that they can be
 * released. It has no clock: time is the minute of the samples.
 * @see docs/coins.md
 */
export class Quarantine {
  readonly #allow: ReadonlySet<string>
  readonly #deny: ReadonlySet<string>
  /** Pairs that need no trial, or have passed theirs. */
  readonly #released = new Set<string>()
  #trials = new Map<string, Trial>()
  #catalogue: readonly Coin[] = []
  #subscribed: readonly Coin[] = []

  /** @param overruled symbols for which an operator has decided */
  constructor(overruled: { readonly allow: readonly string[]; readonly deny: readonly string[] }) {
    const { allow, deny } = overruled
    this.#allow = new Set(allow)
    this.#deny = new Set(deny)
  }

  /** Coins to subscribe and sample: all but the denied ones. */
  get subscribed(): readonly Coin[] {
    return this.#subscribed
  }

  /** Coins to store and publish, in the catalogue's order. */
  get tracked(): readonly Coin[] {
    return this.#subscribed.filter(coin => this.#trialOf(coin) === undefined)
  }

  /** Coins of a first start that wait for their first comparison with the market. */
  get untested(): readonly Coin[] {
    return this.#subscribed.filter(coin => isUntested(this.#trialOf(coin)))
  }

  /** Replaces the catalogue. */
  follow({ coins, published, newcomers }: CatalogueNow): void {
    this.#catalogue = coins
    this.#subscribed = coins
      .filter(({ symbol }) => !this.#deny.has(symbol))
      .map(coin => (this.#allow.has(coin.symbol) ? { ...coin, allowed: true } : coin))
    const isMarket = this.#subscribed.length >= FEWEST_COINS
    const trusted = this.#subscribed.filter(({ symbol }) => !isMarket || this.#allow.has(symbol))
    for (const coin of [...published, ...trusted]) this.#released.add(pairOf(coin))
    const pairs = this.#subscribed.map(pairOf).filter(pair => !this.#released.has(pair))
    this.#trials = new Map(pairs.map(pair => [pair, this.#trials.get(pair) ?? newTrial(newcomers)]))
  }

  /**
   * Compares one minute's premiums with their median; returns the samples that may be stored. Each minute
   * counts once.
   */
  check(minute: EpochMinute, samples: readonly Sample[]): readonly Sample[] {
    const bySymbol = new Map(samples.map(sample => [sample.symbol, sample]))
    const median = this.#medianOf(bySymbol)
    if (median !== undefined) {
      for (const coin of this.#subscribed) {
        const premium = bySymbol.get(coin.symbol)?.premiumE4
        if (premium !== undefined) this.#judge(pairOf(coin), minute, Math.abs(premium - median))
      }
    }
    const tracked = new Set(this.tracked.map(({ symbol }) => symbol))
    return samples.filter(({ symbol }) => tracked.has(symbol))
  }

  status(): QuarantineStatus {
    const quarantined = this.#subscribed.flatMap(coin => {
      const trial = this.#trialOf(coin)
      if (trial === undefined || isUntested(trial)) return []
      return [{ symbol: coin.symbol, reason: reasonOf(trial) }]
    })
    const allow = [...new Set([...this.#allow, ...quarantined.map(({ symbol }) => symbol)])]
    return {
      tracked: this.tracked.length,
      quarantined,
      release: quarantined.length === 0 ? undefined : `ALLOW=${allow.join(',')}`,
      allowed: [...this.#allow],
      denied: this.#catalogue.map(({ symbol }) => symbol).filter(symbol => this.#deny.has(symbol)),
    }
  }

  /** The median premium of the pairs that are not quarantined; undefined while fewer than half have one. */
  #medianOf(samples: ReadonlyMap<string, Sample>): PremiumE4 | undefined {
    const trusted = [...this.tracked, ...this.untested]
    const premiums = trusted.flatMap(({ symbol }) => samples.get(symbol)?.premiumE4 ?? [])
    if (premiums.length < FEWEST_PREMIUMS || premiums.length * 2 < trusted.length) return undefined
    return premiums.sort((a, b) => a - b)[premiums.length >> 1]
  }

  /** One minute's evidence about a pair. */
  #judge(pair: string, minute: EpochMinute, off: PremiumE4): void {
    const trial = this.#trials.get(pair)
    if (trial === undefined || minute <= trial.minute) return
    trial.minute = minute
    trial.off = off
    trial.agreed = off <= FAR_OFF_E4 ? trial.agreed + 1 : 0
    if (trial.agreed < PROBATION_MINUTES) return
    this.#released.add(pair)
    this.#trials.delete(pair)
  }

  #trialOf(coin: Coin): Trial | undefined {
    return this.#trials.get(pairOf(coin))
  }
}

/** The trial of a pair that is not released yet. */
interface Trial {
  /** Minutes in a row in which it agreed; one that is tested lacks only its first comparison. */
  agreed: number
  /** Its last distance from the median; undefined before the first comparison. */
  off: PremiumE4 | undefined
  minute: EpochMinute
}

function newTrial(newcomers: Newcomers): Trial {
  const agreed = newcomers === 'test' ? PROBATION_MINUTES - 1 : 0
  return { agreed, off: undefined, minute: Number.NEGATIVE_INFINITY }
}

function isUntested(trial: Trial | undefined): boolean {
  return trial !== undefined && trial.off === undefined && trial.agreed > 0
}

function reasonOf({ off, agreed }: Trial): string {
  if (off === undefined) return 'new, no premium to judge by yet'
  if (agreed === 0) return `premium ${percentOf(off).toFixed(2)} points off the market's median`
  return `premium agrees with the market's median for ${agreed} of ${PROBATION_MINUTES} minutes`
}

/** What tells a coin's pair of markets apart: the same ticker on other markets is another pair. */
export function pairOf({ symbol, upbit, binance }: Coin): string {
  return `${symbol} ${upbit} ${binance}`
}
