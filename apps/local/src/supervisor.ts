import { type Milliseconds, messageOf } from '@kimchi/core'

/** Wait before a restart; doubles while a process keeps ending. */
const FIRST_RESTART_MS: Milliseconds = 1_000
const LAST_RESTART_MS: Milliseconds = 30_000
/** A process that has run this long ended for a new reason. */
const STEADY_AFTER_MS: Milliseconds = 60_000

/** How a process ended. */
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

/** Starts a process, and rejects when it does not come to answer; ends it when the signal aborts meanwhile. */
export type Start = (signal: AbortSignal) => Promise<Running>

/** What a supervisor is made with. */
export interface SupervisorOptions {
  readonly say: (line: string) => void
  /** Called when a process has said that another start would not help. */
  readonly onFailure: () => void
  readonly wait: (ms: Milliseconds) => Promise<void>
}

/** The processes of one stack: started again whenever they end by themselves, stopped together. */
export class Supervisor {
  readonly #options: SupervisorOptions
  /** In the order of their first start. */
  readonly #running = new Map<string, Running>()
  readonly #starting = new Set<Promise<Running>>()
  readonly #ending = new AbortController()

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  /** Resolves when the process answers for the first time. @throws what `start` throws */
  async start(name: string, start: Start): Promise<void> {
    void this.#keep(name, start, await this.#begin(name, start))
  }

  /** Ends every process within 5 s; the first that was started last, because the others depend on it. */
  async close(): Promise<void> {
    this.#ending.abort()
    await Promise.allSettled(this.#starting)
    const [first, ...others] = this.#running.values()
    await Promise.all(others.map(running => running.stop()))
    await first?.stop()
  }

  async #begin(name: string, start: Start): Promise<Running> {
    const starting = start(this.#ending.signal)
    this.#starting.add(starting)
    try {
      const running = await starting
      this.#running.set(name, running)
      return running
    } finally {
      this.#starting.delete(starting)
    }
  }

  async #keep(name: string, start: Start, first: Running): Promise<void> {
    const { say, onFailure, wait } = this.#options
    let crashes = 0
    for (let running: Running | undefined = first; !this.#ending.signal.aborted; ) {
      const startedAt = performance.now()
      if (running) {
        const { code, signal, isFinal } = await running.exited
        if (this.#ending.signal.aborted) return
        if (isFinal) {
          say(`${name} could not go on (exit ${code}).`)
          onFailure()
          return
        }
        say(`${name} ended unexpectedly (${signal ?? `exit ${code}`}); starting it again.`)
      }
      crashes = performance.now() - startedAt > STEADY_AFTER_MS ? 0 : crashes
      await wait(Math.min(FIRST_RESTART_MS * 2 ** crashes, LAST_RESTART_MS))
      crashes += 1
      if (this.#ending.signal.aborted) return
      running = await this.#begin(name, start).catch(thrown => {
        if (!this.#ending.signal.aborted) say(`${name} could not be started again: ${messageOf(thrown)}`)
        return undefined
      })
    }
  }
}
