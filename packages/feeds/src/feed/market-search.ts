import { type EpochMs, HOUR_MS, type Market, type Milliseconds } from '@kimchi/core'

/** The feed asks for a refused market again after this long. */
const REFUSED_FOR_MS: Milliseconds = HOUR_MS

/**
 * Which of the wanted markets an exchange takes in one subscription. Upbit refuses a whole list because of one
 * code and doesn't say which: this finds it by halves and leaves it out, while the others go on. Pure: the
 * feed says what became of a list, and asks which one is next.
 * @see docs/exchanges.md#upbit-websocket
 */
export class MarketSearch {
  readonly #indispensable: Market
  #wanted: readonly Market[]
  /** Markets whose snapshot came; they are the last to be suspected. */
  readonly #proven = new Set<Market>()
  readonly #refused = new Map<Market, EpochMs>()
  /** The half that the current list holds beside what works. */
  #trial: readonly Market[] = []
  /** Groups that are not in the current list yet, the next one last. */
  #untried: (readonly Market[])[] = []
  #isHopeless = false

  /** @param indispensable the market without which the others are of no use; never left out */
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

  /** Whether the exchange refuses the indispensable market itself, so that no list would work. */
  get isHopeless(): boolean {
    return this.#isHopeless
  }

  /** Whether a snapshot has shown that the exchange takes the list. */
  get isTrialProven(): boolean {
    return this.#trial.some(market => this.#proven.has(market))
  }

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

  /** Notes a market's snapshot. */
  prove(market: Market): void {
    this.#proven.add(market)
    if (market === this.#indispensable) this.#isHopeless = false
  }

  /** Notes that the exchange took the current list; the next one holds one group more. */
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

  /** Takes markets that were refused an hour ago into the list again; false when there are none. */
  forgive(now: EpochMs): boolean {
    const due = [...this.#refused].filter(([, at]) => now - at >= REFUSED_FOR_MS)
    for (const [market] of due) this.#refused.delete(market)
    return due.length > 0
  }

  #suspects(): readonly Market[] {
    const { subscribed } = this
    const unproven = subscribed.filter(market => !this.#proven.has(market))
    if (unproven.length > 0) return unproven
    // A market that was fine has gone bad.
    this.#proven.clear()
    return subscribed
  }
}
