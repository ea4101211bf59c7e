import { type Coin, type EpochMinute, type PremiumE4, percentOf, type Sample } from '@kimchi/core'

/** A quarantined pair must agree with the market's median this well: 5 points, … */
const AGREEMENT_E4: PremiumE4 = 50_000

/** … in this many minutes, with no minute between them in which it does not. */
const AGREEING_MINUTES = 30

/** At a first start only a pair further than this off the median is quarantined: 20 points. */
const FAR_OFF_E4: PremiumE4 = 200_000

/** Fewer coins than this are no market to compare with: the table of pairs alone decides. */
const FEWEST_COINS = 5

/** A median of fewer premiums than this says nothing. */
const FEWEST_PREMIUMS = 3

/**
 * What becomes of pairs that no ingester has published before: `test` takes them unless their first
 * comparison with the market finds them far off, `hold` waits until they have agreed with it for half an
 * hour, `wait` decides nothing until it is known which pairs were published before.
 */
export type Newcomers = 'test' | 'hold' | 'wait'

/** A pair of which nothing is stored or published for now. */
export interface QuarantinedPair {
  readonly symbol: string
  /** Why, as part of a sentence. */
  readonly reason: string
  /** Why, in one word. */
  readonly kind: QuarantineKind
}

/** Nothing to judge by yet; far from the market; near it, but not for long enough. */
export type QuarantineKind = 'no-premium' | 'off-median' | 'on-probation'

/** What the catalogue holds now, and what is known about it. */
export interface CatalogueNow {
  readonly coins: readonly Coin[]
  /** Tracked by any ingester, now or in an earlier run: not quarantined. */
  readonly tracked: readonly Coin[]
  readonly newcomers: Newcomers
}

/** How an operator overrules the quarantine; symbols. */
export interface QuarantineOptions {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
}

/** What a quarantine says of itself. */
export interface QuarantineStatus {
  readonly quarantined: readonly QuarantinedPair[]
  /** The setting that publishes every quarantined pair at the next start; undefined while there is none. */
  readonly release: string | undefined
  /** Symbols of the catalogue that `DENY` names. */
  readonly denied: readonly string[]
}

/**
 * Decides which pairs of the catalogue may be published: the same tickers do not make the same coin, but a
 * premium far from everybody else's gives a wrong pair away. Quarantined pairs are subscribed and sampled, so
 * that they can prove themselves; a released one stays so for as long as its pair of markets stays in the
 * catalogue. No clock: time is the minute it is given.
 * @see docs/coins.md
 */
export interface Quarantine {
  /** Coins to subscribe and sample: all but the denied ones. */
  readonly subscribed: readonly Coin[]
  /** Coins to store and publish, in the catalogue's order; another array whenever they change. */
  readonly tracked: readonly Coin[]
  /** Coins of a first start that wait for their first comparison with the market. */
  readonly untested: readonly Coin[]
  /** Takes over what the catalogue holds now. A pair that has left it is new when it comes back. */
  follow(now: CatalogueNow): void
  /**
   * Compares one minute's premiums with their median; returns the samples that may be stored. Each minute
   * counts once.
   */
  check(minute: EpochMinute, samples: readonly Sample[]): readonly Sample[]
  status(): QuarantineStatus
}

/** A {@link Quarantine} that knows no pair yet. */
export function createQuarantine(options: QuarantineOptions): Quarantine {
  return new MedianQuarantine(options)
}

class MedianQuarantine implements Quarantine {
  readonly #allow: ReadonlySet<string>
  readonly #deny: ReadonlySet<string>
  #trials = new Map<string, Trial>()
  #catalogue: readonly Coin[] = []
  #subscribed: readonly Coin[] = []
  #tracked: readonly Coin[] = []

  constructor({ allow, deny }: QuarantineOptions) {
    this.#allow = new Set(allow)
    this.#deny = new Set(deny)
  }

  get subscribed(): readonly Coin[] {
    return this.#subscribed
  }

  get tracked(): readonly Coin[] {
    return this.#tracked
  }

  get untested(): readonly Coin[] {
    return this.#subscribed.filter(coin => this.#trialOf(coin)?.state === 'untested')
  }

  follow({ coins, tracked, newcomers }: CatalogueNow): void {
    const known = new Set(tracked.map(pairOf))
    const before = this.#trials
    this.#catalogue = coins
    this.#subscribed = coins.filter(({ symbol }) => !this.#deny.has(symbol))
    const isMarket = this.#subscribed.length >= FEWEST_COINS
    this.#trials = new Map()
    for (const coin of this.#subscribed) {
      const pair = pairOf(coin)
      const isReleased = !isMarket || this.#allow.has(coin.symbol) || known.has(pair)
      const earlier = before.get(pair)
      const trial = earlier && earlier.state !== 'waiting' ? earlier : newTrial(newcomers)
      this.#trials.set(pair, isReleased ? { ...trial, state: 'released' } : trial)
    }
    this.#choose()
  }

  check(minute: EpochMinute, samples: readonly Sample[]): readonly Sample[] {
    const bySymbol = new Map(samples.map(sample => [sample.symbol, sample]))
    const median = this.#medianOf(bySymbol)
    if (median !== undefined) {
      for (const coin of this.#subscribed) {
        const premium = bySymbol.get(coin.symbol)?.premiumE4
        const trial = this.#trialOf(coin)
        if (premium !== undefined && trial !== undefined) tryPair(trial, minute, Math.abs(premium - median))
      }
      this.#choose()
    }
    const allowed = new Set(this.#tracked.map(({ symbol }) => symbol))
    return samples.filter(({ symbol }) => allowed.has(symbol))
  }

  status(): QuarantineStatus {
    const quarantined = this.#subscribed.flatMap(coin => {
      const trial = this.#trialOf(coin)
      if (trial?.state !== 'quarantined') return []
      return [{ symbol: coin.symbol, reason: reasonOf(trial), kind: kindOf(trial) }]
    })
    const allow = [...new Set([...this.#allow, ...quarantined.map(({ symbol }) => symbol)])]
    return {
      quarantined,
      release: quarantined.length === 0 ? undefined : `ALLOW=${allow.join(',')}`,
      denied: this.#catalogue.map(({ symbol }) => symbol).filter(symbol => this.#deny.has(symbol)),
    }
  }

  /** The median of those that are not quarantined, when it speaks for at least half of them. */
  #medianOf(samples: ReadonlyMap<string, Sample>): PremiumE4 | undefined {
    const trusted = this.#subscribed.filter(coin => this.#trialOf(coin)?.state !== 'quarantined')
    const premiums = trusted.flatMap(({ symbol }) => samples.get(symbol)?.premiumE4 ?? [])
    if (premiums.length < FEWEST_PREMIUMS || premiums.length * 2 < trusted.length) return undefined
    return premiums.sort((a, b) => a - b)[premiums.length >> 1]
  }

  #choose(): void {
    const tracked = this.#subscribed.filter(coin => this.#trialOf(coin)?.state === 'released')
    if (JSON.stringify(tracked) !== JSON.stringify(this.#tracked)) this.#tracked = tracked
  }

  #trialOf(coin: Coin): Trial | undefined {
    return this.#trials.get(pairOf(coin))
  }
}

/** How a pair has fared so far. */
interface Trial {
  state: 'waiting' | 'untested' | 'quarantined' | 'released'
  /** Minutes in which it agreed since the last one in which it did not. */
  agreed: number
  /** Its last distance from the median; undefined before the first comparison. */
  off: PremiumE4 | undefined
  minute: EpochMinute
}

/** How a pair begins. */
const STATES = { test: 'untested', hold: 'quarantined', wait: 'waiting' } as const

function newTrial(newcomers: Newcomers): Trial {
  const state = STATES[newcomers]
  return { state, agreed: 0, off: undefined, minute: Number.NEGATIVE_INFINITY }
}

/** One minute's evidence. */
function tryPair(trial: Trial, minute: EpochMinute, off: PremiumE4): void {
  if (trial.state === 'released' || trial.state === 'waiting' || minute <= trial.minute) return
  trial.minute = minute
  trial.off = off
  trial.agreed = off <= AGREEMENT_E4 ? trial.agreed + 1 : 0
  const isProven = trial.state === 'untested' ? off <= FAR_OFF_E4 : trial.agreed >= AGREEING_MINUTES
  trial.state = isProven ? 'released' : 'quarantined'
}

function kindOf({ off, agreed }: Trial): QuarantineKind {
  if (off === undefined) return 'no-premium'
  return agreed === 0 ? 'off-median' : 'on-probation'
}

function reasonOf({ off, agreed }: Trial): string {
  if (off === undefined) return 'new, no premium to judge by yet'
  if (agreed === 0) return `premium ${percentOf(off).toFixed(2)} points off the market's median`
  return `premium agrees with the market's median for ${agreed} of ${AGREEING_MINUTES} minutes`
}

/** The same ticker on other markets is another pair. */
function pairOf({ symbol, upbit, binance }: Coin): string {
  return `${symbol} ${upbit} ${binance}`
}
