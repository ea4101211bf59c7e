import { type EpochMs, HOUR_MS, type Market, type Milliseconds } from '@kimchi/core'

/** A refused market is subscribed again after this long. */
const REFUSED_FOR_MS: Milliseconds = HOUR_MS

/**
 * Which of the wanted markets an exchange accepts in one subscription. Upbit refuses a whole list because of one
 * code and doesn't say which: this finds it by halves and leaves it out, while the others go on. It does no I/O:
 * the feed reports what became of a list, and asks for the next one.
 * @see docs/exchanges.md#upbit-websocket
 */
export class MarketSearch {
  readonly #indispensable: Market
  #wanted: readonly Market[]
  /** Markets that had a snapshot; they are suspected last. */
  readonly #proven = new Set<Market>()
  readonly #refused = new Map<Market, EpochMs>()
  /** The half on trial in the current list, beside the markets that work. */
  #trial: readonly Market[] = []
  /** Groups that are not in the current list yet, the next one last. */
  #untried: (readonly Market[])[] = []
  #isHopeless = false

  /** @param indispensable the market without which the others are useless; it is never left out */
  constructor(wanted: readonly Market[], indispensable: Market) {
    this.#wanted = wanted
    this.#indispensable = indispensable
  }

  /** The list to subscribe to now. */
  get subscribed(): readonly Market[] {
    const held = new Set([...this.#refused.keys(), ...this.#untried.flat()])
    return held.size === 0 ? this.#wanted : this.#wanted.filter(market => !held.has(market))
  }

  /** Markets that the exchange refuses. */
  get refused(): readonly Market[] {
    return this.#isHopeless ? [this.#indispensable] : [...this.#refused.keys()]
  }

  get isSearching(): boolean {
    return this.#trial.length > 0
  }

  /** Whether the exchange refuses the indispensable market, so that no list would work. */
  get isHopeless(): boolean {
    return this.#isHopeless
  }

  /** Whether a snapshot has shown that the exchange accepts the list. */
  get isTrialProven(): boolean {
    return this.#trial.some(market => this.#proven.has(market))
  }

  /** Changes the wanted markets. */
  want(markets: readonly Market[]): void {
    const wanted = new Set(markets)
    const stays = (market: Market) => wanted.has(market)
    this.#wanted = markets
    for (const market of this.#proven) if (!stays(market)) this.#proven.delete(market)
    for (const market of this.#refused.keys()) if (!stays(market)) this.#refused.delete(market)
    this.#untried = this.#untried.map(group => group.filter(stays)).filter(group => group.length > 0)
    this.#trial = this.#trial.filter(stays)
    if (this.#trial.length === 0) this.accept()
  }

  /** Notes that a market had a snapshot. */
  prove(market: Market): void {
    this.#proven.add(market)
    if (market === this.#indispensable) this.#isHopeless = false
  }

  /** Notes that the exchange accepted the current list; the next one holds one group more. */
  accept(): void {
    this.#trial = this.#untried.pop() ?? []
  }

  /**
   * Notes that the exchange refused the current list because of a market in it.
   * @returns the market that is to blame, once it is found
   */
  reject(now: EpochMs): Market | undefined {
    const suspects = this.isSearching ? this.#trial : this.#suspects()
    const [first, ...others] = suspects
    if (first === undefined || others.length > 0) {
      const half = Math.ceil(suspects.length / 2)
      this.#untried.push(suspects.slice(half))
      this.#trial = suspects.slice(0, half)
      return undefined
    }
    if (first === this.#indispensable) {
      this.#isHopeless = true
      this.#untried = []
      this.#trial = []
    } else {
      this.#refused.set(first, now)
      this.accept()
    }
    return first
  }

  /** Puts markets that were refused an hour ago back on the list; false when there are none. */
  forgive(now: EpochMs): boolean {
    const due = [...this.#refused].filter(([, at]) => now - at >= REFUSED_FOR_MS)
    for (const [market] of due) this.#refused.delete(market)
    return due.length > 0
  }

  #suspects(): readonly Market[] {
    const { subscribed } = this
    const unproven = subscribed.filter(market => !this.#proven.has(market))
    if (unproven.length > 0) return unproven
    // A market that worked is refused now.
    this.#proven.clear()
    return subscribed
  }
}
