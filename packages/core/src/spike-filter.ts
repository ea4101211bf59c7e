import type { Sample } from './sample.ts'
import type { EpochMinute, PremiumE4 } from './units.ts'

/** A sample further than this from the coin's last one waits one minute: 10 points. */
const SUSPICIOUS_E4: PremiumE4 = 100_000

/** The next sample confirms a waiting one when it is at most this far from it: 5 points. */
const AGREEMENT_E4: PremiumE4 = 50_000

/** A last sample older than this many minutes says nothing about the next one. */
const MEMORY_MINUTES = 60

/** What the spike filter let through and what it turned away. */
export interface SpikeVerdict {
  /** To be written now: this minute's samples, and confirmed ones of the minute before. */
  readonly accepted: readonly Sample[]
  /** Never to be written: jumps that the next minute did not confirm. Their minutes are left to backfill. */
  readonly dropped: readonly Sample[]
  /** Waiting for the next minute. */
  readonly waiting: readonly Sample[]
}

/**
 * The spike filter: a sample more than 10 points away from its coin's last stored one waits one minute; when
 * the next one agrees within 5 points both are accepted, else the first is dropped. A rate that jumps moves
 * every coin at once and is judged in the same way, coin by coin: nothing else could tell a wrong rate.
 * @see docs/architecture.md#samples-and-gaps
 */
export class SpikeFilter {
  readonly #last = new Map<string, Pick<Sample, 'minute' | 'premiumE4'>>()
  readonly #waiting = new Map<string, Sample>()

  /** Remembers what is stored already, e.g. the live rows read at start. Only forward in time. */
  remember(symbol: string, minute: EpochMinute, premiumE4: PremiumE4): void {
    const last = this.#last.get(symbol)
    if (last === undefined || last.minute <= minute) this.#last.set(symbol, { minute, premiumE4 })
  }

  /** Checks the samples of one minute. Call once per minute, in order, also when there are none. */
  check(minute: EpochMinute, samples: readonly Sample[]): SpikeVerdict {
    const accepted: Sample[] = []
    const waited = new Map(this.#waiting)
    this.#waiting.clear()
    for (const sample of samples) {
      const suspect = waited.get(sample.symbol)
      if (
        suspect !== undefined &&
        suspect.minute === minute - 1 &&
        distance(suspect, sample) <= AGREEMENT_E4
      ) {
        waited.delete(sample.symbol)
        accepted.push(suspect, sample)
        this.remember(sample.symbol, minute, sample.premiumE4)
      } else if (this.#isSuspicious(sample)) {
        this.#waiting.set(sample.symbol, sample)
      } else {
        accepted.push(sample)
        this.remember(sample.symbol, minute, sample.premiumE4)
      }
    }
    return { accepted, dropped: [...waited.values()], waiting: [...this.#waiting.values()] }
  }

  #isSuspicious(sample: Sample): boolean {
    const last = this.#last.get(sample.symbol)
    if (last === undefined || sample.minute - last.minute > MEMORY_MINUTES) return false
    return distance(last, sample) > SUSPICIOUS_E4
  }
}

function distance(a: Pick<Sample, 'premiumE4'>, b: Pick<Sample, 'premiumE4'>): PremiumE4 {
  return Math.abs(a.premiumE4 - b.premiumE4)
}
