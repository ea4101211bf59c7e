import { MAX_LAG_MS } from './arrivals.ts'
import type { Leg } from './sample-or-gap.ts'
import type { Tick } from './tick.ts'
import { MINUTE_MS, minuteOf, minuteStart } from './time.ts'
import type { EpochMinute, EpochMs, Milliseconds } from './units.ts'

/** A trade this long after a status request outranks its answer: the two clocks differ by less. */
const OUTRANKS_AFTER_MS: Milliseconds = MAX_LAG_MS

/** The last frame, seed and trade of a market up to the end of a minute. */
interface Known {
  /** The newest minute of them all. */
  readonly minute: EpochMinute
  readonly frame?: Tick | undefined
  readonly seed?: Tick | undefined
  readonly tradedAt?: EpochMs | undefined
}

/** Missed frames that are no further apart count as one trouble, whatever is heard between them. */
const MISSED_TOGETHER_MS: Milliseconds = 2 * MINUTE_MS

/** Frames of a market that could not be read, or not be placed in time. */
export interface Missed {
  readonly count: number
  /** When the trouble began, and when the last of them came. */
  readonly since: EpochMs
  readonly lastAt: EpochMs
}

const NOTHING: Known = { minute: Number.NEGATIVE_INFINITY }

/** What is known of one market in the running minute and before it, and whether it is halted. */
export class MarketTicks {
  /** When the status "not trading" was asked for, or came in a frame; undefined while it trades. */
  haltedAt: EpochMs | undefined
  /** When the last halt was over. A snapshot is taken seconds after M, and a halt often ends at a whole minute. */
  #resumedAt: EpochMs = Number.NEGATIVE_INFINITY
  #upToNow = NOTHING
  /** What was known before the newest minute began. */
  #before = NOTHING
  /** The last SNAPSHOT, in which the exchange itself names the last trade, if nothing was lost since. */
  #confirmation: Tick | undefined
  #missed: Missed | undefined

  add(tick: Tick): void {
    const { origin, eventAt, receivedAt, tradedAt, tradable } = tick
    const isStream = origin === 'stream'
    if (tradable === false) this.haltedAt = receivedAt
    else if (tradable || (isStream && outranks(tradedAt, this.haltedAt)))
      this.#resume(isStream ? eventAt : undefined)
    const minute = minuteOf(eventAt)
    if (minute > this.#upToNow.minute) this.#before = this.#upToNow
    else if (minute < this.#upToNow.minute) this.#before = withTick(this.#before, tick)
    this.#upToNow = withTick(this.#upToNow, tick)
    if (origin === 'snapshot' && receivedAt >= (this.#confirmation?.receivedAt ?? 0))
      this.#confirmation = tick
  }

  /** Notes an exchange's answer to a status request. A trade at least 2 s after the request outranks a "no". */
  setTradable(tradable: boolean, askedAt: EpochMs): void {
    if (tradable) this.#resume(undefined)
    else if (!outranks(this.#upToNow.tradedAt, askedAt)) this.haltedAt = askedAt
  }

  /** A frame came that can't be read or placed in time: no price received before it is known to be the last. */
  miss(receivedAt: EpochMs): void {
    const { count = 0, since = receivedAt, lastAt = receivedAt } = this.#missed ?? {}
    const isNew = receivedAt - lastAt > MISSED_TOGETHER_MS && this.#isKnownSince(lastAt)
    const last = Math.max(lastAt, receivedAt)
    this.#missed = { count: count + 1, since: isNew ? receivedAt : since, lastAt: last }
    this.unconfirm(receivedAt + 1)
  }

  /** Forgets a SNAPSHOT from before: frames that followed it may be lost. */
  unconfirm(before: EpochMs): void {
    if (this.#confirmation && this.#confirmation.receivedAt < before) this.#confirmation = undefined
  }

  /** The frames that could not be read or placed; undefined where there were none. */
  get missed(): (Missed & { readonly isOver: boolean }) | undefined {
    return this.#missed && { ...this.#missed, isOver: this.#isKnownSince(this.#missed.lastAt) }
  }

  /**
   * What is known just before minute M.
   * @param from when the stream was whole again after the last interruption
   * @param disorderMs how far frames may overtake each other
   */
  legBefore(minute: EpochMinute, from: EpochMs, disorderMs: Milliseconds): Leg {
    const known = this.#upToNow.minute < minute ? this.#upToNow : this.#before
    // A price of the same millisecond may have come before the frame that was missed.
    const wholeFrom = this.#missed === undefined ? from : Math.max(from, this.#missed.lastAt + 1)
    const price = this.#priceOf(known, minute, wholeFrom, disorderMs)
    const tradable = this.haltedAt === undefined && this.#resumedAt < minuteStart(minute)
    return { price, tradedAt: known.tradedAt, tradable }
  }

  /** @param at of the trade that ended a halt; undefined where nothing says when it ended */
  #resume(at: EpochMs | undefined): void {
    if (this.haltedAt !== undefined && at !== undefined) this.#resumedAt = at
    this.haltedAt = undefined
  }

  /**
   * The last price before M, unless a later one may have been lost. A frame must have come after the stream
   * was whole again (`from`); and because frames overtake each other, some time after that, or after the
   * exchange itself has confirmed which trade was the last. A seed must precede M by the disorder, and by what our
   * clock may be behind, so that any trade it reflects would also have led to a frame before M.
   */
  #priceOf(
    { minute: newest, frame, seed }: Known,
    minute: EpochMinute,
    from: EpochMs,
    disorderMs: Milliseconds,
  ): number | undefined {
    // Two newer minutes have pushed out what was known before M.
    if (newest >= minute) return undefined
    const framesFrom = Math.min(from + disorderMs, this.#confirmedFrom(minute, from, seed))
    if (frame !== undefined && frame.receivedAt >= framesFrom) return frame.price
    const seedsUntil = minuteStart(minute) - disorderMs - MAX_LAG_MS
    const isSeedKnown = seed !== undefined && askedAt(seed) >= from && seed.receivedAt <= seedsUntil
    return isSeedKnown ? seed.price : undefined
  }

  /** Whether anything has been heard of the market since. */
  #isKnownSince(at: EpochMs): boolean {
    const { frame, seed } = this.#upToNow
    return [frame?.receivedAt, seed && askedAt(seed)].some(heardAt => heardAt !== undefined && heardAt > at)
  }

  /** From when on frames count: from `from` with a SNAPSHOT since, else from a seed's request, else never. */
  #confirmedFrom(minute: EpochMinute, from: EpochMs, seed: Tick | undefined): EpochMs {
    if (this.#confirmation && this.#confirmation.eventAt < minuteStart(minute)) return from
    return seed !== undefined && askedAt(seed) >= from ? askedAt(seed) : Number.POSITIVE_INFINITY
  }
}

/** When a seed was asked for: it may lack whatever was traded since. */
function askedAt({ sentAt, receivedAt }: Tick): EpochMs {
  return sentAt ?? receivedAt
}

function withTick({ minute, frame, seed, tradedAt }: Known, tick: Tick): Known {
  const isSeed = tick.origin === 'seed'
  return {
    minute: Math.max(minute, minuteOf(tick.eventAt)),
    frame: isSeed ? frame : laterOf(tick, frame),
    seed: isSeed ? laterOf(tick, seed) : seed,
    tradedAt: tick.tradedAt === undefined ? tradedAt : Math.max(tick.tradedAt, tradedAt ?? 0),
  }
}

/** The later by the exchange's clock; by ours where the exchange sent the same time twice. */
function laterOf(tick: Tick, known: Tick | undefined): Tick {
  if (known === undefined) return tick
  const laterMs = tick.eventAt - known.eventAt || tick.receivedAt - known.receivedAt
  return laterMs >= 0 ? tick : known
}

function outranks(tradedAt: EpochMs | undefined, askedAt: EpochMs | undefined): boolean {
  return tradedAt !== undefined && askedAt !== undefined && tradedAt >= askedAt + OUTRANKS_AFTER_MS
}
