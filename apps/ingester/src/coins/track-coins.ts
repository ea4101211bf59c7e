import type { Coin, Log, Sample } from '@kimchi/core'
import { isRetryable, type Listing, type SampleWriter } from '@kimchi/store'
import type { CatalogueNow, Quarantine } from './quarantine.ts'

/** Between what coins are tracked, and who has to know. */
export interface CoinTrackingOptions {
  readonly quarantine: Quarantine
  readonly writer: Pick<SampleWriter, 'track'>
  /** The live list's order, and what no ingester may list. */
  readonly listing: Listing
  /** Called with the coins to subscribe, at first and whenever they change. */
  readonly onSubscribed: (coins: readonly Coin[]) => void
  /** Called when Redis will never take our coins. */
  readonly onFatal: (thrown: unknown) => void
  readonly log: Log
}

/** Keeps the feeds and Redis in step with the coins that are tracked. */
export class CoinTracking {
  readonly #options: CoinTrackingOptions
  #subscribed: readonly Coin[] | undefined
  #tracked: readonly Coin[] = []
  #quarantined = new Set<string>()

  constructor(options: CoinTrackingOptions) {
    this.#options = options
  }

  /** Puts a catalogue into the quarantine, and tells the feeds and Redis what follows from it. */
  follow(now: CatalogueNow): void {
    const { quarantine, onSubscribed } = this.#options
    quarantine.follow(now)
    if (!isSame(this.#subscribed, quarantine.subscribed)) onSubscribed(quarantine.subscribed)
    this.#subscribed = quarantine.subscribed
    this.#apply()
  }

  /**
   * Which samples may be published: those of one minute, or of one coin. Coins that they release from quarantine
   * are announced before a row needs their names.
   */
  release(samples: readonly Sample[]): readonly Sample[] {
    const publishable = this.#options.quarantine.check(samples[0]?.minute ?? 0, samples)
    this.#apply()
    return publishable
  }

  /** Tells Redis, and the log, what the quarantine has decided since the last time. */
  #apply(): void {
    this.#report()
    if (this.#tracked !== this.#options.quarantine.tracked) this.#track()
  }

  #track(): void {
    const { quarantine, writer, listing, onFatal } = this.#options
    this.#tracked = quarantine.tracked
    writer.track(this.#tracked, listing).catch(thrown => {
      // Redis is away: the writer brings the coins along with the next minute.
      if (!isRetryable(thrown)) onFatal(thrown)
    })
  }

  #report(): void {
    const { quarantine, log } = this.#options
    const { quarantined, release } = quarantine.status()
    for (const { symbol, reason } of quarantined) {
      if (!this.#quarantined.has(symbol)) log.warn({ symbol, reason, release }, 'pair is quarantined')
    }
    for (const { symbol } of quarantine.tracked) {
      if (this.#quarantined.has(symbol)) log.info({ symbol }, 'pair is released from quarantine')
    }
    this.#quarantined = new Set(quarantined.map(({ symbol }) => symbol))
  }
}

function isSame(a: readonly Coin[] | undefined, b: readonly Coin[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
