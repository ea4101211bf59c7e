import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Context, KimchiError, type Market, type Milliseconds } from '@kimchi/core'
import type { RestBases } from '../bases.ts'
import type { BinanceMarket, Listing, UpbitMarket } from '../catalogue/listings.ts'
import { HttpError } from '../feed/http-error.ts'
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
  /** The parts before `/v1` and `/api/v3`. Each request names the one in use. */
  readonly bases: RestBases
  /** @default our name without version and address */
  readonly userAgent?: string
  /** The child ends after this long without work; the next request starts another. @default 30 s */
  readonly idleMs?: Milliseconds
  /** The child's program. @default the built one beside this file */
  readonly entry?: URL
}

/** Opens the child process that holds ccxt. The first request starts it; after an end, the next one does. */
export function openRestChild(options: RestChildOptions, context: Pick<Context, 'log'>): RestChild {
  return new RestChild(options, context)
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
  readonly #pending = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>()
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
    const listing = await this.#ask({ kind: 'listing', exchange: 'binance' }, signal)
    const { markets } = listing as Listing<BinanceMarket>
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

  /** Kills the child; requests under way are rejected. May be called more than once. */
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
    const ask = (base: string) => this.#askAt(base, question, signal)
    return this.#options.bases[question.exchange].request(ask, signal)
  }

  async #askAt(base: string, question: RestQuestion, signal?: AbortSignal): Promise<unknown> {
    if (this.#closed) throw new KimchiError('KIMCHI_ERR_REST', 'REST child: closed')
    signal?.throwIfAborted()
    const child = this.#child ?? this.#start()
    clearTimeout(this.#idle)
    const request: RestRequest = { id: ++this.#ids, base, question }
    const fail = (message: string) => this.#receive({ id: request.id, failure: failureOf(message) })
    const answer = new Promise((resolve, reject) => this.#pending.set(request.id, { resolve, reject }))
    child.send(request, error => {
      if (error !== null) fail(`REST child: ${error.message}`)
    })
    const onAbort = () => fail('REST request: aborted')
    signal?.addEventListener('abort', onAbort, { once: true })
    return answer.finally(() => signal?.removeEventListener('abort', onAbort))
  }

  #start(): ChildProcess {
    const { userAgent = NAME, entry = new URL('./child.js', import.meta.url) } = this.#options
    // Loaders and inspectors of the parent are not the child's.
    const execArgv = ['--enable-source-maps']
    const child = fork(fileURLToPath(entry), [userAgent], { execArgv })
    this.#child = child
    this.#log.debug({ pid: child.pid }, 'REST child started')
    child.on('message', message => this.#receive(message as RestAnswer))
    child.once('error', error => this.#lose(child, error.message))
    child.once('exit', (code, signal) => this.#lose(child, `ended with ${signal ?? code}`))
    return child
  }

  #receive({ id, result, failure }: RestAnswer): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (failure === undefined) pending?.resolve(result)
    else pending?.reject(toError(failure))
    if (this.#pending.size > 0 || this.#closed) return
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.#release('idle'), this.#options.idleMs ?? 30_000)
    // It must not keep the parent alive.
    this.#idle.unref()
  }

  #lose(child: ChildProcess, reason: string): void {
    if (this.#child !== child) return
    this.#log.warn({ pid: child.pid, reason }, 'the REST child has ended, the next request starts another')
    this.#release(reason)
  }

  /** Lets the child end, and fails the requests that it has not answered. */
  #release(reason: string): void {
    const child = this.#child
    this.#child = undefined
    if (child?.connected === true) child.disconnect()
    for (const id of [...this.#pending.keys()]) {
      this.#receive({ id, failure: failureOf(`REST child: ${reason}`) })
    }
    clearTimeout(this.#idle)
  }
}

function failureOf(message: string): Failure {
  return { code: 'KIMCHI_ERR_REST', message }
}

function toError({ code, message, status, retryAfterMs }: Failure): KimchiError {
  return status === undefined
    ? new KimchiError(code, message)
    : new HttpError(code, message, status, retryAfterMs)
}
