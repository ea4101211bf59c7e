import type { Sample } from './sample.ts'
import type { EpochMinute, PremiumE4 } from './units.ts'

/** A sample further than this from the coin's last one waits a minute: 10 points. */
const JUMP_E4: PremiumE4 = 100_000

/** The next sample confirms a waiting one when it is at most this far from it: 5 points. */
const AGREEMENT_E4: PremiumE4 = 50_000

/** The next sample is not compared with one older than this. */
const MEMORY_MINUTES = 60

/** What the spike filter makes of one minute. */
export interface SpikeVerdict {
  /** To be stored now: samples of this minute, and those of the minute before that they confirm. */
  readonly accepted: readonly Sample[]
  /** Not to be stored: jumps that this minute did not confirm. Backfill decides their minutes. */
  readonly dropped: readonly Sample[]
  /** Jumps of this minute, which wait for the next one. */
  readonly waiting: readonly Sample[]
}

/**
 * Holds back jumps: a sample more than 10 points away from its coin's last stored one waits a minute; when the
 * next one agrees within 5 points both are accepted, else the first is dropped. A rate that jumps moves every
 * coin at once, and each coin is judged in the same way.
 * @see docs/architecture.md#samples-and-gaps
 */
export class SpikeFilter {
  readonly #last = new Map<string, Pick<Sample, 'minute' | 'premiumE4'>>()
  readonly #waiting = new Map<string, Sample>()

  /** Remembers what is already stored, such as the live rows read at the start, unless a later one is known. */
  remember(symbol: string, minute: EpochMinute, premiumE4: PremiumE4): void {
    const last = this.#last.get(symbol)
    if (last === undefined || last.minute <= minute) this.#last.set(symbol, { minute, premiumE4 })
  }

  /** Judges the samples of one minute. Call it once a minute, in order, even when there are none. */
  check(minute: EpochMinute, samples: readonly Sample[]): SpikeVerdict {
    const accepted: Sample[] = []
    const waited = new Map(this.#waiting)
    this.#waiting.clear()
    for (const sample of samples) {
      const { symbol, premiumE4 } = sample
      const suspect = waited.get(symbol)
      if (suspect?.minute === minute - 1 && distance(suspect, sample) <= AGREEMENT_E4) {
        waited.delete(symbol)
        accepted.push(suspect)
      } else if (this.#isJump(sample)) {
        this.#waiting.set(symbol, sample)
        continue
      }
      accepted.push(sample)
      this.remember(symbol, minute, premiumE4)
    }
    return { accepted, dropped: [...waited.values()], waiting: [...this.#waiting.values()] }
  }

  #isJump(sample: Sample): boolean {
    const last = this.#last.get(sample.symbol)
    if (last === undefined || sample.minute - last.minute > MEMORY_MINUTES) return false
    return distance(last, sample) > JUMP_E4
  }
}

function distance(a: Pick<Sample, 'premiumE4'>, b: Pick<Sample, 'premiumE4'>): PremiumE4 {
  return Math.abs(a.premiumE4 - b.premiumE4)
}
