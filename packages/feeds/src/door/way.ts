import {
  type Context,
  type EpochMs,
  type Exchange,
  isWorthALine,
  KimchiError,
  type Milliseconds,
  messageOf,
} from '@kimchi/core'
import { SubscriptionRefused } from '../feed/connection-errors.ts'
import { HttpError, isBlocked, isOfItsBase, refusesAll, Unreachable } from '../http-error.ts'
import { Retry } from '../retry.ts'

/** How a request waits for its turn. */
export interface Want {
  /** Whether it goes before those that are not. @default false */
  readonly isUrgent?: boolean
  /** How long the end of a refusal is worth waiting for; a longer one is the answer. @default any time */
  readonly worthMs?: Milliseconds
  /** Frees its place when it aborts. @default that of the door */
  readonly signal?: AbortSignal
}

export interface WayOptions {
  readonly exchange: Exchange
  /** What its bases serve. */
  readonly of: 'stream' | 'rest'
  readonly bases: string | readonly string[]
  /** At most so many requests within so long. */
  readonly limits: readonly { readonly count: number; readonly withinMs: Milliseconds }[]
}

interface Place extends Want {
  take(): void
  refuse(reason: unknown): void
}

/**
 * One of the two ways to an exchange: its bases, of which one is in use while it works; the pace, and the order, in
 * which requests have their turns; what the exchange has refused, and until when. Its instants are of the clock's
 * elapsed time.
 */
export class Way {
  readonly #options: WayOptions
  readonly #bases: readonly string[]
  readonly #context: Context
  readonly #retry: Retry
  /** The bases that have failed since they last worked, and how. */
  readonly #left = new Map<string, string>()
  #index = 0
  /** The base named in the last log line. */
  #logged: string
  #waiting: Place[] = []
  #isServing = false
  /** Aborted to have the next turn decided again. */
  #changed = new AbortController()
  /** The last turns. */
  readonly #turns: Milliseconds[] = []
  #pausedUntil: Milliseconds = 0
  #heldUntil: Milliseconds = 0
  /** Why requests are held back, or were last. */
  #reason: unknown

  constructor(options: WayOptions, context: Context) {
    this.#options = options
    this.#bases = [options.bases].flat()
    this.#context = context
    this.#retry = new Retry(context)
    this.#logged = this.#inUse
    context.signal.addEventListener('abort', () => this.#leave(this.#waiting, context.signal), { once: true })
  }

  /**
   * Asks the base in use, and the next one when it fails, each base once. While the exchange refuses all requests of
   * this way, it waits, and asks again.
   * @param ask a request, or the opening of a stream
   * @throws what failed where it concerns this request alone, or no base answers: what `ask` threw last when all bases
   *   failed, but a refused region only when all refused it, since the wait that follows is long
   */
  async request<T>(ask: (base: string) => Promise<T>, want: Want = {}): Promise<T> {
    let reason: unknown
    for (let failures = 1; ; failures += 1) {
      await this.#turn(want)
      const base = this.#inUse
      try {
        const answer = await ask(base)
        this.#noteUse(base)
        return answer
      } catch (error) {
        if (this.#context.signal.aborted || want.signal?.aborted) throw error
        const isOfBase = this.failed(base, error)
        const isRefusedRegion = error instanceof HttpError && error.status === 451
        if (failures === 1 || !isRefusedRegion) reason = error
        if (isOfBase && failures < this.#bases.length) continue
        const isStream = this.#options.of === 'stream'
        const isRefusal = refusesAll(reason)
        if (isStream || isRefusal || reason instanceof Unreachable) this.hold(reason)
        if (isStream || !isRefusal) throw reason
        failures = 0
      }
    }
  }

  /** Notes a failure, as of a stream that ended too soon. Returns whether it is the base's own: the next one follows. */
  failed(base: string, error: unknown): boolean {
    if (!isOfItsBase(error)) return false
    this.#left.set(base, messageOf(error))
    // Another request may have left it already.
    if (base === this.#inUse) this.#index = (this.#index + 1) % this.#bases.length
    return true
  }

  /** Ends the backoff. */
  worked(): void {
    this.#retry.reset()
  }

  /**
   * Holds all requests back for as long as a failure wants, but at least for the backoff. One that went out before, and
   * fails now, only prolongs it.
   */
  hold(reason: unknown): void {
    const now = this.#context.clock.elapsed()
    const isHeld = now < this.#heldUntil
    const statedMs = reason instanceof HttpError ? (reason.retryAfterMs ?? 0) : 0
    const waitMs = isHeld ? statedMs : this.#retry.delay(reason)
    if (now + waitMs <= this.#heldUntil) return
    this.#heldUntil = now + waitMs
    this.#reason = reason
    if (!isHeld && reason !== undefined) this.#tell(reason, waitMs)
    this.#changed.abort()
  }

  /** Lets no request go out for a while, without a complaint. */
  pause(ms: Milliseconds): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#context.clock.elapsed() + ms)
  }

  status() {
    const { exchange, of } = this.#options
    const { clock } = this.#context
    const leftMs = this.#heldUntil - clock.elapsed()
    const others = [...this.#left].filter(([base]) => base !== this.#inUse)
    const isHeld = leftMs > 0 && this.#reason !== undefined
    return {
      exchange,
      of,
      inUse: this.#inUse,
      /** Which of the list is in use. */
      index: this.#index,
      /** The others that were left, and why. */
      left: others.map(([base, reason]) => ({ base, reason })),
      /** How many requests wait. */
      waiting: this.#waiting.length,
      /** Why and until when all requests are held back; undefined while they are not. */
      held: isHeld
        ? {
            reason: messageOf(this.#reason),
            until: (clock.now() + leftMs) as EpochMs,
            isBlocked: isBlocked(this.#reason),
          }
        : undefined,
    }
  }

  get #inUse(): string {
    return this.#bases[this.#index] ?? ''
  }

  /** Waits for the turn of a request. */
  async #turn({ signal, ...want }: Want): Promise<void> {
    this.#context.signal.throwIfAborted()
    signal?.throwIfAborted()
    let leave = () => {}
    try {
      await new Promise<void>((take, refuse) => {
        const place = { ...want, take, refuse }
        leave = () => this.#leave([place], signal)
        signal?.addEventListener('abort', leave)
        this.#waiting.push(place)
        void this.#serve()
      })
    } finally {
      signal?.removeEventListener('abort', leave)
    }
  }

  /** Frees places, as the signal has aborted. */
  #leave(places: readonly Place[], signal: AbortSignal | undefined): void {
    this.#waiting = this.#waiting.filter(place => !places.includes(place))
    for (const { refuse } of places) refuse(signal?.reason)
    this.#changed.abort()
  }

  /** Gives turns, one after another, for as long as requests wait. */
  async #serve(): Promise<void> {
    const { clock } = this.#context
    if (this.#isServing) return this.#changed.abort()
    this.#isServing = true
    for (;;) {
      this.#refuseImpatient()
      if (this.#waiting.length === 0) break
      const waitMs = Math.max(this.#freeAt, this.#heldUntil) - clock.elapsed()
      if (waitMs > 0) {
        this.#changed = new AbortController()
        await clock.wait(waitMs, this.#changed.signal)
        continue
      }
      const next = this.#waiting.find(({ isUrgent }) => isUrgent) ?? this.#waiting[0]
      this.#waiting = this.#waiting.filter(place => place !== next)
      this.#turns.push(clock.elapsed())
      if (this.#turns.length > this.#most) this.#turns.shift()
      next?.take()
    }
    this.#isServing = false
  }

  get #most(): number {
    return Math.max(...this.#options.limits.map(({ count }) => count))
  }

  /** When the limits allow another turn. */
  get #freeAt(): Milliseconds {
    const free = this.#options.limits.map(
      ({ count, withinMs }) => (this.#turns.at(-count) ?? -withinMs) + withinMs,
    )
    return Math.max(this.#pausedUntil, ...free)
  }

  /** Answers those for which a refusal lasts too long. */
  #refuseImpatient(): void {
    const leftMs = this.#heldUntil - this.#context.clock.elapsed()
    const reason = this.#reason
    if (!(reason instanceof HttpError) || leftMs <= 0) return
    const isPatient = ({ worthMs = Number.POSITIVE_INFINITY }: Place) => worthMs >= leftMs
    const { code, message, status } = reason
    const impatient = this.#waiting.filter(place => !isPatient(place))
    this.#waiting = this.#waiting.filter(isPatient)
    for (const { refuse } of impatient)
      refuse(new HttpError(code, `not asked again: ${message}`, status, leftMs))
  }

  #noteUse(base: string): void {
    const { exchange, of } = this.#options
    if (of === 'rest') this.worked()
    this.#left.delete(base)
    if (base !== this.#inUse || base === this.#logged) return
    this.#logged = base
    const left = Object.fromEntries(this.#left)
    this.#context.log.warn({ exchange, of, base, left }, 'another base is in use')
  }

  #tell(reason: unknown, waitMs: Milliseconds): void {
    const { exchange, of } = this.#options
    const { log } = this.#context
    const { failures } = this.#retry
    const code = reason instanceof KimchiError ? reason.code : undefined
    const fields = { exchange, of, code, error: messageOf(reason), failures, delayMs: Math.round(waitMs) }
    const line =
      of === 'rest'
        ? 'requests wait for the exchange'
        : reason instanceof SubscriptionRefused
          ? 'the exchange refuses the subscription; if it names a code, DENY=SYMBOL excludes that coin'
          : 'no data from the exchange, reconnecting'
    // The caller of a REST request logs that it had no answer.
    if (!isWorthALine(failures) || (of === 'rest' && reason instanceof Unreachable)) log.debug(fields, line)
    else if (isBlocked(reason)) log.error(fields, `blocked by the exchange`)
    else log.warn(fields, line)
  }
}
