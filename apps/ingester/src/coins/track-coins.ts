import type { Coin, Log } from '@kimchi/core'
import { isRetryable, type Listing, type SampleWriter } from '@kimchi/store'
import type { Quarantine } from './quarantine.ts'
import type { RefreshedCatalogue } from './refresh-catalogue.ts'

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
export interface CoinTracking {
  /** Puts a catalogue into the quarantine, and tells the feeds and Redis what follows from it. */
  follow(now: RefreshedCatalogue): void
  /** Tells Redis, and the log, what the quarantine has decided since the last time. */
  apply(): void
}

/** A {@link CoinTracking} that has told nobody anything yet. */
export function createCoinTracking(options: CoinTrackingOptions): CoinTracking {
  const { quarantine, writer, listing, onSubscribed, onFatal, log } = options
  let subscribed: readonly Coin[] | undefined
  let tracked: readonly Coin[] = []
  let quarantined = new Set<string>()

  const track = () => {
    tracked = quarantine.tracked
    writer.track(tracked, listing).catch(thrown => {
      // Redis is away: the writer brings the coins along with the next minute.
      if (!isRetryable(thrown)) onFatal(thrown)
    })
  }
  const report = () => {
    const { quarantined: now, release } = quarantine.status()
    for (const { symbol, reason } of now) {
      if (!quarantined.has(symbol)) log.warn({ symbol, reason, release }, 'pair is quarantined')
    }
    for (const { symbol } of quarantine.tracked) {
      if (quarantined.has(symbol)) log.info({ symbol }, 'pair is released from quarantine')
    }
    quarantined = new Set(now.map(({ symbol }) => symbol))
  }
  return {
    follow: now => {
      quarantine.follow(now)
      report()
      if (!isSame(subscribed, quarantine.subscribed)) onSubscribed(quarantine.subscribed)
      subscribed = quarantine.subscribed
      if (tracked !== quarantine.tracked) track()
    },
    apply: () => {
      report()
      if (tracked !== quarantine.tracked) track()
    },
  }
}

function isSame(a: readonly Coin[] | undefined, b: readonly Coin[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
