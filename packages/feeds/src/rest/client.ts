import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Context, KimchiError, type Market, type Milliseconds } from '@kimchi/core'
import type { RestBases } from '../bases.ts'
import type { BinanceMarket, Listing, UpbitMarket } from '../catalogue/listings.ts'
import { HttpError, UnreachedError } from '../feed/http-error.ts'
import { NAME } from '../http.ts'
import type {
  CandlePage,
  CandleRange,
  Failure,
  Listings,
  RestAnswer,
  RestQuestion,
  RestRequest,
} from './messages.ts'

/** Where the exchanges answer, and how long the child may idle. */
interface RestChildOptions {
  /** The parts before `/v1` and `/api/v3`. The child hears with each request which one is in use. */
  readonly bases: RestBases
  /** @default our name without version and address */
  readonly userAgent?: string
  /** The child ends after this long without work; a new one is started when needed. @default 30 s */
  readonly idleMs?: Milliseconds
  /** The child's program. @default the built one beside this file */
  readonly entry?: URL
}

/**
 * Opens the child process that holds ccxt. The first request starts it; it ends when idle, and a new one is
 * started after a crash.
 */
export function openRestChild(options: RestChildOptions, context: Pick<Context, 'log'>): RestChild {
  return new RestChild(options, context)
}

interface Pending {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * Catalogue and candles from both exchanges' REST interfaces, fetched in a process of its own that holds ccxt
 * (60 MB on disk, some 70 MB in memory), so that the streaming process stays small and no large parse stalls
 * it.
 * @see docs/architecture.md#ingester
 */
export class RestChild {
  readonly #options: RestChildOptions
  readonly #log: Context['log']
  readonly #pending = new Map<number, Pending>()
  #child: ChildProcess | undefined
  #idle: NodeJS.Timeout | undefined
  #ids = 0
  #closed = false

  constructor(options: RestChildOptions, { log }: Pick<Context, 'log'>) {
    this.#options = options
    this.#log = log
  }

  /** Process id of the running child, undefined while there is none. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /**
   * What both exchanges list now.
   * @throws KimchiError `KIMCHI_ERR_CATALOGUE` for an answer of the wrong shape, HttpError when an exchange
   *   refuses, `KIMCHI_ERR_REST` for anything else
   */
  async loadListings(signal?: AbortSignal): Promise<Listings> {
    const [upbit, binance] = await Promise.all([
      this.#ask({ kind: 'listing', exchange: 'upbit' }, signal),
      this.#ask({ kind: 'listing', exchange: 'binance' }, signal),
    ])
    return { upbit: upbit as Listing<UpbitMarket>, binance: binance as Listing<BinanceMarket> }
  }

  /** The symbols that trade on Binance by exchangeInfo. Rejects as {@link loadListings}. */
  async fetchTrading(signal?: AbortSignal): Promise<ReadonlySet<Market>> {
    const { markets } = (await this.#ask(
      { kind: 'listing', exchange: 'binance' },
      signal,
    )) as Listing<BinanceMarket>
    return new Set(markets.filter(({ trading }) => trading).map(({ market }) => market))
  }

  /**
   * The newest 1-minute candles that open in a range, by one request: at most 200 of Upbit, 1,000 of Binance.
   * A minute without a trade is absent on Upbit and has volume 0 on Binance.
   * @throws HttpError when the exchange refuses, KimchiError `KIMCHI_ERR_REST` for anything else
   */
  async candlePage(range: CandleRange, signal?: AbortSignal): Promise<CandlePage> {
    return (await this.#ask({ kind: 'candles', ...range }, signal)) as CandlePage
  }

  /** Ends the child; requests under way are rejected. May be called more than once. */
  async close(): Promise<void> {
    this.#closed = true
    const child = this.#child
    this.#release('closed')
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    // It has nothing to save, and it may be in the middle of a long parse.
    child.kill('SIGKILL')
    await exited
  }

  #ask(question: RestQuestion, signal?: AbortSignal): Promise<unknown> {
    return this.#options.bases[question.exchange].request(base => this.#askAt(base, question, signal))
  }

  async #askAt(base: string, question: RestQuestion, signal?: AbortSignal): Promise<unknown> {
    if (this.#closed) throw new KimchiError('KIMCHI_ERR_REST', 'REST child: closed')
    signal?.throwIfAborted()
    const child = this.#child ?? this.#start()
    const id = ++this.#ids
    clearTimeout(this.#idle)
    const request: RestRequest = { id, base, ...question }
    const answer = new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
      child.send(request, error => {
        if (error !== null)
          this.#settle(id, { code: 'KIMCHI_ERR_REST', message: `REST child: ${error.message}` })
      })
    })
    const onAbort = (): void =>
      this.#settle(id, { code: 'KIMCHI_ERR_REST', message: 'REST request: aborted' })
    signal?.addEventListener('abort', onAbort, { once: true })
    return answer.finally(() => signal?.removeEventListener('abort', onAbort))
  }

  #start(): ChildProcess {
    const { userAgent = NAME, entry = new URL('./child.js', import.meta.url) } = this.#options
    const child = fork(fileURLToPath(entry), [userAgent], {
      // Loaders and inspectors of the parent are not the child's.
      execArgv: ['--enable-source-maps'],
      serialization: 'json',
    })
    this.#child = child
    this.#log.debug({ pid: child.pid }, 'REST child started')
    child.on('message', message => this.#receive(message as RestAnswer))
    child.once('error', error => this.#gone(child, error.message))
    child.once('exit', (code, signal) => this.#gone(child, `ended with ${signal ?? code}`))
    return child
  }

  #receive(answer: RestAnswer): void {
    this.#settle(answer.id, answer.ok ? undefined : answer.failure, answer.ok ? answer.result : undefined)
  }

  #settle(id: number, failure: Failure | undefined, result?: unknown): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (failure === undefined) pending?.resolve(result)
    else pending?.reject(toError(failure))
    if (this.#pending.size === 0 && !this.#closed) this.#rest()
  }

  /** Lets the child end when nothing comes for a while. The timer must not keep the parent alive. */
  #rest(): void {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.#release('idle'), this.#options.idleMs ?? 30_000)
    this.#idle.unref()
  }

  #gone(child: ChildProcess, reason: string): void {
    if (this.#child !== child) return
    this.#log.warn({ pid: child.pid, reason }, 'REST child is gone, the next request starts another')
    this.#release(reason)
  }

  #release(reason: string): void {
    const child = this.#child
    this.#child = undefined
    clearTimeout(this.#idle)
    if (child?.connected === true) child.disconnect()
    for (const id of [...this.#pending.keys()]) {
      this.#settle(id, { code: 'KIMCHI_ERR_REST', message: `REST child: ${reason}` })
    }
    clearTimeout(this.#idle)
  }
}

function toError({ code, message, status, retryAfterMs, unreached }: Failure): KimchiError {
  if (unreached !== undefined) {
    const cause = unreached === 'name' ? Object.assign(new Error(message), { code: 'ENOTFOUND' }) : undefined
    return new UnreachedError(code, message, cause)
  }
  return status === undefined
    ? new KimchiError(code, message)
    : new HttpError(code, message, status, retryAfterMs)
}
