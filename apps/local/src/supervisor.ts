import { type Context, type Milliseconds, messageOf } from '@kimchi/core'

/** Wait before a restart; doubles while a process keeps ending. */
const FIRST_RESTART_MS: Milliseconds = 1_000
const LAST_RESTART_MS: Milliseconds = 30_000
/** A process that has run this long before it ended is restarted as if it had never ended. */
const STEADY_AFTER_MS: Milliseconds = 60_000

/** What the process that runs the stack gives it. */
export interface LocalContext extends Pick<Context, 'clock' | 'signal'> {
  /** Prints a line for the person who started it. */
  readonly say: (line: string) => void
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Another start would meet the same failure. */
  readonly isFinal?: boolean
}

/** A process that answers. */
export interface Running {
  readonly exited: Promise<Exit>
  /** Ends it in order; may be called again. */
  stop(): Promise<unknown>
}

/** Starts a process, and rejects if it never becomes ready; ends it when the signal aborts meanwhile. */
type Start<R extends Running> = (signal: AbortSignal) => Promise<R>

/**
 * The processes of one stack, stopped together. One that ends by itself is started again; where another start would meet
 * the same failure, the stack ends.
 */
export class Supervisor {
  readonly #context: LocalContext
  readonly #closing = new AbortController()
  /** Aborts when the stack is to end: somebody wants it, or a process has said that another start would not help. */
  readonly ending: AbortSignal
  /** The newest start of each, in the order of the first ones; undefined when it failed. */
  readonly #starts = new Map<string, Promise<Running | undefined>>()

  constructor(context: LocalContext) {
    this.#context = context
    this.ending = AbortSignal.any([context.signal, this.#closing.signal])
  }

  /** Resolves when the process answers for the first time. @throws what `start` throws */
  async start<R extends Running>(name: string, start: Start<R>): Promise<R> {
    const running = await this.#begin(name, start)
    void this.#keep(name, start, running)
    return running
  }

  /** Ends every process within 5 s. The one that started first ends last, because the others depend on it. */
  async close(): Promise<void> {
    this.#closing.abort()
    const [first, ...others] = await Promise.all(this.#starts.values())
    await Promise.all(others.map(running => running?.stop()))
    await first?.stop()
  }

  #begin<R extends Running>(name: string, start: Start<R>): Promise<R> {
    const starting = start(this.ending)
    this.#starts.set(
      name,
      starting.catch(() => undefined),
    )
    return starting
  }

  async #keep(name: string, start: Start<Running>, first: Running): Promise<void> {
    const { say, clock } = this.#context
    let running: Running | undefined = first
    for (let crashes = 0; ; crashes += 1) {
      const startedAt = clock.elapsed()
      const exit: Exit | undefined = await running?.exited
      if (this.ending.aborted) return
      if (exit?.isFinal) {
        say(`${name} could not go on (exit ${exit.code}).`)
        this.#closing.abort()
        return
      }
      if (exit) say(`${name} ended unexpectedly (${exit.signal ?? `exit ${exit.code}`}); starting it again.`)
      if (clock.elapsed() - startedAt > STEADY_AFTER_MS) crashes = 0
      await clock.wait(Math.min(FIRST_RESTART_MS * 2 ** crashes, LAST_RESTART_MS), this.ending)
      if (this.ending.aborted) return
      running = await this.#begin(name, start).catch(thrown => {
        if (!this.ending.aborted) say(`${name} could not be started again: ${messageOf(thrown)}`)
        return undefined
      })
    }
  }
}
