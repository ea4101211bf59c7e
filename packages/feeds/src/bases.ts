import { type Context, type EpochMs, type Exchange, HOUR_MS, KimchiError, messageOf } from '@kimchi/core'
import { UnreachedError } from './feed/http-error.ts'

/**
 * Where the exchanges answer: the main host, then the host that serves market data alone, by variable.
 * @see docs/exchanges.md#where-it-runs
 */
export const DEFAULT_BASES = {
  UPBIT_WS_URL: ['wss://api.upbit.com/websocket/v1'],
  UPBIT_REST_URL: ['https://api.upbit.com'],
  BINANCE_WS_URL: ['wss://stream.binance.com:9443', 'wss://data-stream.binance.vision'],
  BINANCE_REST_URL: ['https://api.binance.com', 'https://data-api.binance.vision'],
} as const

/** An unreached base is left after so many failures in a row. */
const UNREACHED_IN_A_ROW = 3

/** A front base that was left is tried again at most this often. */
const FRONT_EVERY_MS = HOUR_MS

/** What a list of bases says of itself. */
export interface BasesStatus {
  readonly exchange: Exchange
  /** What they serve. */
  readonly of: 'stream' | 'rest'
  /** The base that requests go to. */
  readonly inUse: string
  /** Its place in the list, from 0. */
  readonly place: number
  /** What the other bases said when they were left. */
  readonly left: readonly { readonly base: string; readonly reason: string }[]
}

/**
 * A list of an exchange's base addresses, of which one is in use. The next one follows at once when one
 * refuses the region or its name is unknown, and after three failures in a row when one is not reached. The
 * choice stays while it works; the front is tried again at most hourly.
 */
export class Bases {
  readonly #exchange: Exchange
  readonly #of: BasesStatus['of']
  readonly #bases: readonly string[]
  readonly #context: Pick<Context, 'clock' | 'log'>
  readonly #left = new Map<string, string>()
  #place = 0
  #failures = 0
  /** Bases in a row that were left without one that worked. */
  #leftInARow = 0
  #frontTriedAt: EpochMs = Number.NEGATIVE_INFINITY
  #told: string

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
    this.#told = this.inUse
  }

  get inUse(): string {
    return this.#bases[this.#place] ?? ''
  }

  /** The base for the next request: the one in use, or once an hour the front that was left. */
  next(): string {
    const now = this.#context.clock.now()
    const front = this.#bases[0] ?? ''
    if (this.#place === 0 || now - this.#frontTriedAt < FRONT_EVERY_MS) return this.inUse
    this.#frontTriedAt = now
    return front
  }

  /** Notes that a base answered as it should. */
  worked(base: string): void {
    const place = this.#bases.indexOf(base)
    if (place > this.#place) return
    this.#place = place
    this.#failures = 0
    this.#leftInARow = 0
    this.#left.delete(base)
    if (base === this.#told) return
    this.#told = base
    const left = Object.fromEntries(this.#left)
    const fields = { exchange: this.#exchange, of: this.#of, base, left }
    this.#context.log.warn(fields, place === 0 ? 'back at the first base' : 'another base is in use')
  }

  /**
   * Notes that a base failed.
   * @returns whether the request should be made again at once, at another base
   */
  failed(base: string, error: unknown): boolean {
    // A trial of the front, or a request that was under way when its base was left.
    if (base !== this.inUse) return true
    this.#failures = isUnreached(error) ? this.#failures + 1 : 0
    if (!isRegionRefused(error) && !isUnknownName(error) && this.#failures < UNREACHED_IN_A_ROW) return false
    return this.#leave(base, messageOf(error))
  }

  /** Makes a request at the base in use, and at others as far as its failure calls for it. */
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

  /** False when every base has been left in a row: the next round begins at the front, after a wait. */
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

/** Both exchanges' {@link RestBases}. */
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

/** Whether an exchange refuses the region that a request came from. */
function isRegionRefused(error: unknown): boolean {
  return error instanceof KimchiError && error.code === 'KIMCHI_ERR_GEO_BLOCKED'
}

function isUnknownName(error: unknown): boolean {
  return error instanceof UnreachedError && error.isUnknownName
}

/** A base that accepts a connection and then says nothing is not reached either. */
function isUnreached(error: unknown): boolean {
  return (
    error instanceof UnreachedError ||
    (error instanceof KimchiError && error.code === 'KIMCHI_ERR_FEED_STALLED')
  )
}
