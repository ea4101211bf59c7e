import type { Clock, EpochMs, Milliseconds } from '@kimchi/core'
import { settled } from '@kimchi/testkit/manual-clock'
import { Draws } from '../seeded-random.ts'

interface WorldEvent {
  readonly at: EpochMs
  readonly host: Host | undefined
  readonly happen: () => unknown
}

/**
 * The one clock of a simulated day, and what is to happen on it. It moves only when nothing is left to be done, so
 * that the same plan makes the same day, however busy the machine is.
 */
export class World {
  now: EpochMs
  readonly seed: number
  /** The next one last: most of what is planned is soon. Those of one instant happen as they were planned. */
  readonly #events: WorldEvent[] = []

  constructor(now: EpochMs, seed: number) {
    this.now = now
    this.seed = seed
  }

  /** Plans what happens at an instant; on a paused host it happens when the pause is over. */
  at(at: EpochMs, happen: () => unknown, host?: Host): void {
    this.#push({ at: Math.max(at, this.now), host, happen })
  }

  after(ms: Milliseconds, happen: () => unknown, host?: Host): void {
    this.at(this.now + Math.ceil(ms), happen, host)
  }

  /** Lets everything happen that is due before an instant. */
  async passTo(until: EpochMs): Promise<void> {
    for (let next = this.#events.at(-1); next !== undefined && next.at < until; next = this.#events.at(-1)) {
      this.#events.pop()
      const { host, happen } = next
      if (host !== undefined && host.pausedUntil > next.at) {
        this.#push({ ...next, at: host.pausedUntil })
        continue
      }
      this.now = next.at
      const happening = happen()
      if (happening instanceof Promise) await happening
      // A turn of the event loop would show the same, and take as long as all the rest of an event.
      await settled()
    }
    this.now = until
  }

  #push(event: WorldEvent): void {
    const after = this.#events.findLastIndex(({ at }) => at > event.at)
    this.#events.splice(after + 1, 0, event)
  }
}

/** One process of the world, by its own wall clock. */
export class Host implements Clock {
  readonly name: string
  /** How far its wall clock has been put ahead. */
  wallOffset: Milliseconds = 0
  pausedUntil: EpochMs = 0
  /** Killed: nothing of it reaches anybody any more. */
  isDead = false
  /** Those that are not over, by their numbers. */
  readonly waits = new Map<number, { readonly signal: AbortSignal | undefined; readonly end: () => void }>()
  #waited = 0
  readonly world: World
  /** What its code draws. */
  readonly random: () => number
  /** What its packets draw. */
  readonly network: Draws
  readonly startedAt: EpochMs
  #steppedAt: EpochMs = 0

  readonly #skew: Milliseconds

  /** @param skew how far its wall clock is ahead of the true time when it is right */
  constructor(name: string, world: World, skew: Milliseconds = 0) {
    this.name = name
    this.world = world
    this.#skew = skew
    this.random = new Draws(world.seed, `code of ${name}`).next
    this.network = new Draws(world.seed, `network of ${name}`)
    this.startedAt = world.now
  }

  pauseFor(ms: Milliseconds): void {
    this.pausedUntil = this.world.now + ms
  }

  /** Puts its wall clock so far ahead. */
  stepTo(offset: Milliseconds): void {
    this.wallOffset = offset
    this.#steppedAt = this.world.now
  }

  /** When its last pause or its clock's last step was over; infinite while the clock is wrong. */
  get troubledUntil(): EpochMs {
    return this.wallOffset === 0 ? Math.max(this.pausedUntil, this.#steppedAt) : Number.POSITIVE_INFINITY
  }

  now(): EpochMs {
    return this.world.now + this.#skew + this.wallOffset
  }

  elapsed(): Milliseconds {
    return this.world.now - this.startedAt
  }

  wait(ms: Milliseconds, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    const number = this.#waited++
    this.#endAfter(ms, number)
    return new Promise(resolve => {
      const end = () => {
        this.waits.delete(number)
        signal?.removeEventListener('abort', end)
        resolve()
      }
      this.waits.set(number, { signal, end })
      signal?.addEventListener('abort', end)
    })
  }

  /** A wait of a day that is over sooner leaves nothing but its number for as long. */
  #endAfter(ms: Milliseconds, number: number): void {
    this.world.after(Math.max(0, ms), () => this.waits.get(number)?.end(), this)
  }
}
