import {
  type Context,
  DAY_MINUTES,
  dateOf,
  dayStart,
  isWorthALine,
  type Milliseconds,
  messageOf,
  minuteOf,
  type UtcDate,
} from '@kimchi/core'
import type { SampleReader, SampleWriter } from '@kimchi/store'

/** Each coin's days are counted this often, one coin after another. */
const ROUND_MS: Milliseconds = 300_000

/** Once an hour each kept day is folded again: a lost hour and an odd member can leave the counts equal. */
const FOLD_EVERY_ROUNDS = 12

export interface DayMendingOptions {
  readonly reader: Pick<SampleReader, 'readBoard'>
  readonly writer: Pick<SampleWriter, 'mendDay' | 'mendUncounted'>
  /** Whole UTC days of which samples are kept. */
  readonly retentionDays: number
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
  #failures = 0
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
      // That Redis is away is told by its own reason.
      const board = await this.#options.reader.readBoard().catch(() => undefined)
      const coins = board?.coins ?? []
      for (const { symbol } of coins) {
        await clock.wait(ROUND_MS / coins.length, signal)
        if (signal.aborted) return
        await this.#attempt(() => this.#mendCoin(symbol, round % FOLD_EVERY_ROUNDS === 0))
      }
      if (coins.length === 0) await clock.wait(ROUND_MS, signal)
    }
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (thrown) {
      this.#failures += 1
      this.#problem = messageOf(thrown)
      if (isWorthALine(this.#failures)) {
        this.#context.log.warn({ reason: this.#problem, failures: this.#failures }, 'days are not checked')
      }
    }
  }

  async #mendCoin(symbol: string, isFolded: boolean): Promise<void> {
    const { writer } = this.#options
    for (let date = await writer.mendUncounted(symbol); date; date = await writer.mendUncounted(symbol)) {
      this.#note(symbol, date)
    }
    for (const date of isFolded ? this.#keptDays() : []) {
      if (await writer.mendDay(symbol, date)) this.#note(symbol, date)
    }
    this.#failures = 0
    this.#problem = undefined
  }

  #note(symbol: string, date: UtcDate): void {
    this.#mended += 1
    const day = `${symbol} ${date}`
    this.#context.log.warn({ day }, 'the row of a day was not the fold of its samples: folded again')
  }

  #keptDays(): UtcDate[] {
    const today = dayStart(minuteOf(this.#context.clock.now()))
    const daysAgo = Array.from({ length: this.#options.retentionDays + 1 }, (_, back) => back)
    return daysAgo.map(back => dateOf(today - back * DAY_MINUTES))
  }
}
