import type { Coin, Log } from '@kimchi/core'
import type { SampleWriter } from '@kimchi/store'
import type { Quarantine } from './quarantine.ts'

export interface CoinTrackingOptions {
  readonly quarantine: Pick<Quarantine, 'tracked' | 'status'>
  readonly writer: Pick<SampleWriter, 'track'>
  readonly log: Log
}

/** Tells Redis and the log what the quarantine has decided. */
export class CoinTracking {
  readonly #options: CoinTrackingOptions
  /** The coins that were last sent to Redis. */
  #tracked: readonly Coin[] = []
  #quarantined = new Set<string>()

  constructor(options: CoinTrackingOptions) {
    this.#options = options
  }

  /** Tells what has changed since the last call. */
  update(): void {
    this.#report()
    const { quarantine, writer, log } = this.#options
    const { tracked } = quarantine
    if (JSON.stringify(tracked) === JSON.stringify(this.#tracked)) return
    this.#tracked = tracked
    // Where that fails, the writer sends the coins with the next minute.
    writer.track(tracked).catch(thrown => log.debug({ err: thrown }, 'coins not tracked'))
  }

  #report(): void {
    const { quarantine, log } = this.#options
    const { quarantined: held, allowSetting } = quarantine.status()
    const quarantined = held.filter(({ reason }) => reason !== undefined)
    for (const { symbol, reason } of quarantined) {
      if (!this.#quarantined.has(symbol))
        log.warn({ symbol, reason, release: allowSetting }, 'pair is quarantined')
    }
    for (const { symbol } of quarantine.tracked) {
      if (this.#quarantined.has(symbol)) log.info({ symbol }, 'pair is released from quarantine')
    }
    this.#quarantined = new Set(quarantined.map(({ symbol }) => symbol))
  }
}
