import { type Context, type EpochMs, type Exchange, HOUR_MS, KimchiError, messageOf } from '@kimchi/core'
import { UnreachedError } from './feed/http-error.ts'

/**
 * The exchanges' addresses by environment variable: the main host, then the one that serves only market data.
 * @see docs/exchanges.md#where-it-runs
 */
export const DEFAULT_BASES = {
  UPBIT_WS_URL: ['wss://api.upbit.com/websocket/v1'],
  UPBIT_REST_URL: ['https://api.upbit.com'],
  BINANCE_WS_URL: ['wss://stream.binance.com:9443', 'wss://data-stream.binance.vision'],
  BINANCE_REST_URL: ['https://api.binance.com', 'https://data-api.binance.vision'],
} as const

/** A base that could not be reached this many times in a row is left. */
const UNREACHED_IN_A_ROW = 3

/** Once the first base is left, it is tried again at most this often. */
const FRONT_EVERY_MS = HOUR_MS

/** Which of an exchange's bases is in use, and why. */
export interface BasesStatus {
  readonly exchange: Exchange
  /** What they serve. */
  readonly of: 'stream' | 'rest'
  /** The base that requests go to. */
  readonly inUse: string
  /** Its index in the list. */
  readonly place: number
  /** The other bases, with the error for which each was left. */
  readonly left: readonly { readonly base: string; readonly reason: string }[]
}

/**
 * An exchange's base addresses, one of which is in use. It is replaced by the next one as soon as it refuses
 * the region or its name is unknown, and when it could not be reached three times in a row. The choice stays
 * while it works; the first base is tried again at most once an hour.
 */
export class Bases {
  readonly #exchange: Exchange
  readonly #of: BasesStatus['of']
  readonly #bases: readonly string[]
  readonly #context: Pick<Context, 'clock' | 'log'>
  readonly #left = new Map<string, string>()
  #place = 0
  #failures = 0
  /** Bases left in a row since the last one that worked. */
  #leftInARow = 0
  #frontTriedAt: EpochMs = Number.NEGATIVE_INFINITY
  /** The base named in the last log line. */
  #logged: string

  constructor(
    exchange: Exchange,
    of: BasesStatus['of'],
    bases: string | readonly string[],
    context: Pick<Context, 'clock' | 'log'>,
  ) {
    this.#exchange = exchange
    this.#of = of
    this.#bases = [bases].flat().map(base => base.replace(/\/+$/, ''))
    this.#context = context
    this.#logged = this.inUse
  }

  get inUse(): string {
    return this.#bases[this.#place] ?? ''
  }

  /** The base for the next request: the one in use, or once an hour the first one, if it was left. */
  next(): string {
    const now = this.#context.clock.now()
    const front = this.#bases[0] ?? ''
    if (this.#place === 0 || now - this.#frontTriedAt < FRONT_EVERY_MS) return this.inUse
    this.#frontTriedAt = now
    return front
  }

  /** Notes that a base has answered. */
  worked(base: string): void {
    const place = this.#bases.indexOf(base)
    if (place > this.#place) return
    this.#place = place
    this.#failures = 0
    this.#leftInARow = 0
    this.#left.delete(base)
    if (base === this.#logged) return
    this.#logged = base
    const left = Object.fromEntries(this.#left)
    const fields = { exchange: this.#exchange, of: this.#of, base, left }
    this.#context.log.warn(fields, place === 0 ? 'back at the first base' : 'another base is in use')
  }

  /**
   * Notes that a base failed.
   * @returns whether to repeat the request at once, at another base
   */
  failed(base: string, error: unknown): boolean {
    // The first base on trial, or a request that was under way when its base was left.
    if (base !== this.inUse) return true
    const code = error instanceof KimchiError ? error.code : undefined
    const isUnreached = error instanceof UnreachedError
    // A base that accepts a connection and then stays silent is not reached either.
    this.#failures = isUnreached || code === 'KIMCHI_ERR_FEED_STALLED' ? this.#failures + 1 : 0
    const isHopeless = code === 'KIMCHI_ERR_GEO_BLOCKED' || (isUnreached && error.isUnknownName)
    return (isHopeless || this.#failures >= UNREACHED_IN_A_ROW) && this.#leave(base, messageOf(error))
  }

  /** Makes a request at the base in use, and repeats it at the next one where {@link failed} says so. */
  async request<T>(ask: (base: string) => Promise<T>): Promise<T> {
    for (;;) {
      const base = this.next()
      try {
        const answer = await ask(base)
        this.worked(base)
        return answer
      } catch (error) {
        if (!this.failed(base, error)) throw error
      }
    }
  }

  status(): BasesStatus {
    const left = [...this.#left].map(([base, reason]) => ({ base, reason }))
    return { exchange: this.#exchange, of: this.#of, inUse: this.inUse, place: this.#place, left }
  }

  /** Returns false when every base has been left in a row: the caller waits and begins at the first again. */
  #leave(base: string, reason: string): boolean {
    if (this.#bases.length === 1) return false
    if (this.#place === 0) this.#frontTriedAt = this.#context.clock.now()
    this.#left.set(base, reason)
    this.#failures = 0
    this.#leftInARow += 1
    this.#place = (this.#place + 1) % this.#bases.length
    if (this.#leftInARow < this.#bases.length) return true
    this.#leftInARow = 0
    return false
  }
}

/** The REST bases of both exchanges, which the streaming process and the REST child share. */
export type RestBases = Readonly<Record<Exchange, Bases>>

/** Creates both exchanges' REST bases, each from the part before `/v1` or `/api/v3`. */
export function createRestBases(
  upbit: string | readonly string[],
  binance: string | readonly string[],
  context: Pick<Context, 'clock' | 'log'>,
): RestBases {
  return {
    upbit: new Bases('upbit', 'rest', upbit, context),
    binance: new Bases('binance', 'rest', binance, context),
  }
}
