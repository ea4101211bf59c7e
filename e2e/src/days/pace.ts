import { type EpochMs, MINUTE_MS, type Milliseconds } from '@kimchi/core'

/** At most so many within so long: docs/exchanges.md, and for handshakes docs/faults.md, 40. */
const LIMITS = [
  { of: 'handshakes', count: 4, withinMs: 1_000 },
  { of: 'handshakes', count: 20, withinMs: 5 * MINUTE_MS },
  { of: 'requests to upbit', count: 10, withinMs: 1_000 },
  { of: 'requests to binance', count: 25, withinMs: 1_000 },
  { of: 'weight to binance', count: 6_000, withinMs: MINUTE_MS },
]

/** No limit looks further back. */
const MOST = 6_001

/** The longest wait of our own for a ban. */
const BAN_MS: Milliseconds = 5 * MINUTE_MS

/** What has its turn when a ban comes may still wait for Redis. */
const UNDER_WAY_MS: Milliseconds = 2_000

/** Judges when a process asks an exchange in one way. */
export class Pace {
  readonly #of: string
  readonly #find: (what: string) => void
  readonly #asked: EpochMs[] = []
  #banned = { from: 0, until: 0 }

  /** @param of as `requests to upbit` */
  constructor(of: string, find: (what: string) => void) {
    this.#of = of
    this.#find = what => find(`${of}: ${what}`)
  }

  ask(now: EpochMs): void {
    const { from, until } = this.#banned
    if (from < now && now < until) this.#find(`one in a ban that lasts ${until - now} ms more`)
    if (this.#asked.push(now) > MOST) this.#asked.shift()
    for (const { of, count, withinMs } of LIMITS)
      if (this.#of.startsWith(of) && (this.#asked.at(-count - 1) ?? 0) > now - withinMs)
        this.#find(`over ${count} in ${withinMs} ms`)
  }

  /**
   * An answer arrives, or the refusal of a handshake.
   * @param retryAfter a date is read by the process's clock, which may be wrong, and not judged
   */
  hear(now: EpochMs, status: number | undefined, retryAfter: unknown): void {
    if (status !== 418 && status !== 429) return
    const waitMs = Math.max(1_000 * (Number(retryAfter) || 0), status === 418 ? BAN_MS : 0)
    if (now + waitMs > this.#banned.until) this.#banned = { from: now + UNDER_WAY_MS, until: now + waitMs }
  }
}
