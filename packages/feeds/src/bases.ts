import { type Context, type Exchange, messageOf } from '@kimchi/core'
import { HttpError } from './http-error.ts'

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

/**
 * The refusals that another base would repeat, because they are about us or about what we asked. A 400 or 404
 * without JSON comes from something else than the exchange, and is no {@link HttpError} of a REST request.
 */
export const ABOUT_US: readonly number[] = [418, 429]
const ABOUT_THE_REQUEST: readonly number[] = [400, 404]

/**
 * An exchange's base addresses, one of which is in use while it works. When it fails, the next one takes over, and
 * after the last the first.
 */
export class Bases {
  readonly #exchange: Exchange
  /** What they serve. */
  readonly #of: 'stream' | 'rest'
  readonly #bases: readonly string[]
  readonly #context: Pick<Context, 'log' | 'signal'>
  /** The bases that have failed since they last worked, and how. */
  readonly #left = new Map<string, string>()
  #index = 0
  /** The base named in the last log line. */
  #logged: string

  constructor(
    exchange: Exchange,
    of: 'stream' | 'rest',
    bases: string | readonly string[],
    context: Pick<Context, 'log' | 'signal'>,
  ) {
    this.#exchange = exchange
    this.#of = of
    this.#bases = [bases].flat()
    this.#context = context
    this.#logged = this.inUse
  }

  get inUse(): string {
    return this.#bases[this.#index] ?? ''
  }

  /**
   * Asks the base in use, and the next one when it fails, each base once.
   * What fails after the context's signal has aborted is no fault of a base.
   * @param ask a request, or the opening of a stream
   * @throws what `ask` threw last when all bases failed, but a refused region only when all refused it: the
   *   wait that follows is long
   */
  async request<T>(ask: (base: string) => Promise<T>): Promise<T> {
    let reason: unknown
    for (let asked = 0; asked < this.#bases.length; asked += 1) {
      const base = this.inUse
      try {
        const answer = await ask(base)
        this.#noteUse(base)
        return answer
      } catch (error) {
        if (!this.failed(base, error)) throw error
        reason = asked === 0 || !isRefusedRegion(error) ? error : reason
      }
    }
    throw reason
  }

  /**
   * Notes a failure, as of a stream that ended too soon: the next base follows, unless another request has left this
   * one already. Returns whether it is the base's own.
   */
  failed(base: string, error: unknown): boolean {
    if (this.#context.signal.aborted || !isOfItsBase(error)) return false
    this.#left.set(base, messageOf(error))
    if (base === this.inUse) this.#index = (this.#index + 1) % this.#bases.length
    return true
  }

  /** Which base is in use, its index in the list, and the others with the error for which each was left. */
  status() {
    const left = [...this.#left].map(([base, reason]) => ({ base, reason }))
    const others = left.filter(({ base }) => base !== this.inUse)
    return { exchange: this.#exchange, of: this.#of, inUse: this.inUse, index: this.#index, left: others }
  }

  #noteUse(base: string): void {
    this.#left.delete(base)
    if (base !== this.inUse || base === this.#logged) return
    this.#logged = base
    const left = Object.fromEntries(this.#left)
    this.#context.log.warn({ exchange: this.#exchange, of: this.#of, base, left }, 'another base is in use')
  }
}

function isRefusedRegion(error: unknown): boolean {
  return error instanceof HttpError && error.status === 451
}

/** Whether a failure is its base's own, so that another one may do better. */
function isOfItsBase(error: unknown): boolean {
  if (!(error instanceof HttpError)) return true
  const { code, status } = error
  return !ABOUT_US.includes(status) && !(code === 'KIMCHI_ERR_REST' && ABOUT_THE_REQUEST.includes(status))
}
