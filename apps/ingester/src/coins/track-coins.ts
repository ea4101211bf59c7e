import type { Coin, Log, Sample } from '@kimchi/core'
import type { SampleWriter } from '@kimchi/store'
import type { CatalogueNow, Quarantine } from './quarantine.ts'

export interface CoinTrackingOptions {
  readonly quarantine: Quarantine
  readonly writer: Pick<SampleWriter, 'track'>
  /** Called with the coins to subscribe, those of before included. */
  readonly onSubscribed: (coins: readonly Coin[]) => void
  readonly log: Log
}

/** Keeps the feeds and Redis in step with the coins that are tracked. */
export class CoinTracking {
  readonly #options: CoinTrackingOptions
  /** The coins that were last sent to Redis. */
  #tracked: readonly Coin[] = []
  #quarantined = new Set<string>()

  constructor(options: CoinTrackingOptions) {
    this.#options = options
  }

  /** Gives the quarantine a new catalogue, and updates the feeds and Redis. */
  follow(now: CatalogueNow): void {
    const { quarantine, onSubscribed } = this.#options
    quarantine.follow(now)
    onSubscribed(quarantine.subscribed)
    this.#apply()
  }

  /**
   * Which samples may be published: those of one minute, or of one coin. Coins that they release from quarantine
   * are announced before a row needs their names.
   */
  release(samples: readonly Sample[]): readonly Sample[] {
    const publishable = this.#options.quarantine.judgeMinute(samples)
    this.#apply()
    return publishable
  }

  /** Updates Redis and the log with what the quarantine has decided since the last call. */
  #apply(): void {
    this.#report()
    const { quarantine, writer, log } = this.#options
    const { tracked } = quarantine
    if (JSON.stringify(tracked) === JSON.stringify(this.#tracked)) return
    this.#tracked = tracked
    // Where that fails, the writer sends the coins with the next minute.
    writer.track(tracked).catch(thrown => log.debug({ err: thrown }, 'coins not announced'))
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
