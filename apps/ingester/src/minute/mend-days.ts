import { type Context, type Milliseconds, messageOf } from '@kimchi/core'
import type { SampleReader, SampleWriter } from '@kimchi/store'

/** Each coin's days are counted this often, one coin after another. */
const ROUND_MS: Milliseconds = 360_000

/** Each is folded once an hour, in a round of its own: a lost hour and an odd member can leave the counts equal. */
const ROUNDS = 10

export interface DayMendingOptions {
  readonly reader: Pick<SampleReader, 'readBoard'>
  readonly writer: Pick<SampleWriter, 'mendDays'>
}

/** Days whose rows were not the fold of their samples, since the start. */
export type DayMendingStatus = ReturnType<DayMending['status']>

/**
 * Mends the days whose rows are not the fold of their samples: a row was lost, a member cannot be read, or a minute
 * is stored twice. Every ingester does it, whichever fills the gaps.
 * @see docs/architecture.md#data-in-redis
 */
export class DayMending {
  readonly #options: DayMendingOptions
  readonly #context: Context
  #mended = 0
  #problem: string | undefined

  constructor(options: DayMendingOptions, context: Context) {
    this.#options = options
    this.#context = context
  }

  status() {
    return {
      mended: this.#mended,
      /** Why the last look failed; undefined while it works. */
      problem: this.#problem,
    }
  }

  /** Works until the signal aborts; whatever fails is tried again in the next round. */
  async run(): Promise<void> {
    const { clock, signal } = this.#context
    for (let round = 0; !signal.aborted; round++) {
      // Redis being away is a reason of its own.
      const board = await this.#options.reader.readBoard().catch(() => undefined)
      const coins = board?.coins ?? []
      for (const { symbol } of coins) {
        await clock.wait(ROUND_MS / coins.length, signal)
        if (signal.aborted) return
        await this.#mendCoin(symbol, round % ROUNDS)
      }
      if (coins.length === 0) await clock.wait(ROUND_MS, signal)
    }
  }

  async #mendCoin(symbol: string, turn: number): Promise<void> {
    const { log } = this.#context
    try {
      const dates = await this.#options.writer.mendDays(symbol, turn, ROUNDS)
      this.#mended += dates.length
      if (dates.length > 0)
        log.warn({ symbol, dates }, 'rows of days were not the fold of their samples: folded again')
      this.#problem = undefined
    } catch (thrown) {
      const problem = messageOf(thrown)
      if (problem !== this.#problem) log.warn({ reason: problem }, 'days are not checked')
      this.#problem = problem
    }
  }
}
