import { type Context, DAY_MINUTES, dayStart, type Milliseconds, messageOf, minuteOf } from '@kimchi/core'
import type { SampleReader, SampleWriter } from '@kimchi/store'

/** Each coin's days are checked this often, one coin after another. */
const ROUND_MS: Milliseconds = 300_000

export interface DayMendingOptions {
  readonly reader: Pick<SampleReader, 'readBoard' | 'readUncountedDays'>
  readonly writer: Pick<SampleWriter, 'mendDay'>
  /** Whole UTC days of which samples are kept. */
  readonly retentionDays: number
}

/** Days of which more was stored than their rows counted, since the start. */
export type DayMendingStatus = ReturnType<DayMending['status']>

/**
 * Mends the days of which more is stored than their rows count: a row was lost, a member cannot be read, or a
 * minute is stored twice. Every ingester does it, whichever fills the gaps.
 * @see docs/architecture.md#data-in-redis
 */
export class DayMending {
  readonly #options: DayMendingOptions
  readonly #context: Context
  #mended = 0

  constructor(options: DayMendingOptions, context: Context) {
    this.#options = options
    this.#context = context
  }

  status() {
    return { mended: this.#mended }
  }

  /** Works until the signal aborts; whatever fails is tried again in the next round. */
  async run(): Promise<void> {
    const { clock, signal, log } = this.#context
    const failed = (thrown: unknown) => log.debug({ reason: messageOf(thrown) }, 'days not checked')
    while (!signal.aborted) {
      const board = await this.#options.reader.readBoard().catch(failed)
      const coins = board?.coins ?? []
      for (const { symbol } of coins) {
        await clock.wait(ROUND_MS / coins.length, signal)
        if (!signal.aborted) await this.#mendCoin(symbol).catch(failed)
      }
      if (coins.length === 0) await clock.wait(ROUND_MS, signal)
    }
  }

  async #mendCoin(symbol: string): Promise<void> {
    const { reader, writer, retentionDays } = this.#options
    const { clock, log } = this.#context
    const today = dayStart(minuteOf(clock.now()))
    const from = today - retentionDays * DAY_MINUTES
    for (const date of await reader.readUncountedDays(symbol, from, today + DAY_MINUTES)) {
      if (!(await writer.mendDay(symbol, date))) continue
      this.#mended += 1
      const day = `${symbol} ${date}`
      log.warn({ day }, 'more was stored of a day than its row counted: folded again from its samples')
    }
  }
}
