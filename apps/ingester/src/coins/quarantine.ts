import { type Coin, type EpochMinute, type PremiumE4, percentOf, type Sample } from '@kimchi/core'

/** A pair that is held back must agree with the market's median this well: 5 points, … */
const AGREEMENT_E4: PremiumE4 = 50_000

/** … in this many minutes, with no minute between them in which it does not. */
const AGREEING_MINUTES = 30

/** At a first start only a pair further than this off the median is held back: 20 points. */
const FAR_OFF_E4: PremiumE4 = 200_000

/** Fewer coins than this are no market to compare with: the table of pairs alone decides. */
const FEWEST_COINS = 5

/** A median of fewer premiums than this says nothing. */
const FEWEST_PREMIUMS = 3

/**
 * What becomes of pairs that nobody has admitted before: `test` takes them unless their first comparison with the market finds them far off,
 * `hold` waits until they have agreed with it for half an hour.
 */
export type Newcomers = 'test' | 'hold'

/** A pair of which nothing is stored or published for now. */
export interface HeldPair {
  readonly symbol: string
  /** Why, as part of a sentence. */
  readonly reason: string
}

/** What the catalogue holds now, and what is known about it. */
export interface CatalogueNow {
  readonly coins: readonly Coin[]
  /** Tracked by whichever ingester, now or in an earlier run: admitted. */
  readonly tracked: readonly Coin[]
  readonly newcomers: Newcomers
}

/** How an operator overrules the admission; symbols. */
export interface AdmissionOptions {
  readonly admit: readonly string[]
  readonly deny: readonly string[]
}

/**
 * Decides which pairs of the catalogue may be published: the same tickers do not make the same coin, but a premium far from everybody else's
 * gives a wrong pair away. Held-back pairs are subscribed and sampled, so that they can prove themselves; an admitted one stays
 * admitted for as long as its pair of markets stays in the catalogue. No clock: time is the minute it is given.
 * @see exchange-protocols §5, §6
 */
export class Admission {
  readonly #admit: ReadonlySet<string>
  readonly #deny: ReadonlySet<string>
  #trials = new Map<string, Trial>()
  #catalogue: readonly Coin[] = []
  #subscribed: readonly Coin[] = []
  #tracked: readonly Coin[] = []

  constructor({ admit, deny }: AdmissionOptions) {
    this.#admit = new Set(admit)
    this.#deny = new Set(deny)
  }

  /** Coins to subscribe and sample: all but the denied ones. */
  get subscribed(): readonly Coin[] {
    return this.#subscribed
  }

  /** Admitted coins, in the catalogue's order; another array whenever they change. */
  get tracked(): readonly Coin[] {
    return this.#tracked
  }

  /** Coins of a first start that wait for their first comparison with the market. */
  get untested(): readonly Coin[] {
    return this.#subscribed.filter(coin => this.#trialOf(coin)?.state === 'untested')
  }

  /** Pairs that are held back or denied, with the reasons. */
  get held(): readonly HeldPair[] {
    return this.#catalogue.flatMap(coin => {
      if (this.#deny.has(coin.symbol)) return { symbol: coin.symbol, reason: 'denied by DENY' }
      const trial = this.#trialOf(coin)
      return trial?.state === 'held' ? { symbol: coin.symbol, reason: reasonOf(trial) } : []
    })
  }

  /** Takes over what the catalogue holds now. A pair that has left it is new when it comes back. */
  follow({ coins, tracked, newcomers }: CatalogueNow): void {
    const known = new Set(tracked.map(pairOf))
    const before = this.#trials
    this.#catalogue = coins
    this.#subscribed = coins.filter(({ symbol }) => !this.#deny.has(symbol))
    const isMarket = this.#subscribed.length >= FEWEST_COINS
    this.#trials = new Map()
    for (const coin of this.#subscribed) {
      const pair = pairOf(coin)
      const isAdmitted = !isMarket || this.#admit.has(coin.symbol) || known.has(pair)
      const trial = before.get(pair) ?? newTrial(newcomers)
      this.#trials.set(pair, isAdmitted ? { ...trial, state: 'admitted' } : trial)
    }
    this.#choose()
  }

  /** Compares one minute's premiums with their median; returns the samples that may be stored. Each minute counts once. */
  judge(minute: EpochMinute, samples: readonly Sample[]): readonly Sample[] {
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

  /** The median of those that are not held back, when it speaks for at least half of them. */
  #medianOf(samples: ReadonlyMap<string, Sample>): PremiumE4 | undefined {
    const trusted = this.#subscribed.filter(coin => this.#trialOf(coin)?.state !== 'held')
    const premiums = trusted.flatMap(({ symbol }) => samples.get(symbol)?.premiumE4 ?? [])
    if (premiums.length < FEWEST_PREMIUMS || premiums.length * 2 < trusted.length) return undefined
    return premiums.sort((a, b) => a - b)[premiums.length >> 1]
  }

  #choose(): void {
    const tracked = this.#subscribed.filter(coin => this.#trialOf(coin)?.state === 'admitted')
    if (JSON.stringify(tracked) !== JSON.stringify(this.#tracked)) this.#tracked = tracked
  }

  #trialOf(coin: Coin): Trial | undefined {
    return this.#trials.get(pairOf(coin))
  }
}

/** How a pair has fared so far. */
interface Trial {
  state: 'untested' | 'held' | 'admitted'
  /** Minutes in which it agreed since the last one in which it did not. */
  agreed: number
  /** Its last distance from the median; undefined before the first comparison. */
  off: PremiumE4 | undefined
  minute: EpochMinute
}

function newTrial(newcomers: Newcomers): Trial {
  const state = newcomers === 'test' ? 'untested' : 'held'
  return { state, agreed: 0, off: undefined, minute: Number.NEGATIVE_INFINITY }
}

/** One minute's evidence. */
function tryPair(trial: Trial, minute: EpochMinute, off: PremiumE4): void {
  if (trial.state === 'admitted' || minute <= trial.minute) return
  trial.minute = minute
  trial.off = off
  trial.agreed = off <= AGREEMENT_E4 ? trial.agreed + 1 : 0
  const isProven = trial.state === 'untested' ? off <= FAR_OFF_E4 : trial.agreed >= AGREEING_MINUTES
  trial.state = isProven ? 'admitted' : 'held'
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
