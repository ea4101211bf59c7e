import type { EpochMs, Exchange, Market, Milliseconds, TickSink } from '@kimchi/core'

/** One answer may be incomplete: a market is halted when another, requested so much later, lacks it too. */
export const CONFIRM_AFTER_MS: Milliseconds = 15_000

/** The markets that trade now, each with its last price where the answer has one that is plausible. */
export type TradingPrices = ReadonlyMap<Market, number | undefined>

/** When an exchange was asked, by the wall clock and by elapsed time. */
export interface Asked {
  readonly at: EpochMs
  readonly elapsed: Milliseconds
}

export interface Answer {
  readonly asked: Asked
  readonly trading: TradingPrices
}

/** Tells which markets trade: a market that two answers in a row lack, 15 s apart or more, does not. */
export class TradingStatus {
  /** When the exchange last answered; when the feed was opened, before the first answer. */
  answeredAt: EpochMs
  readonly #exchange: Exchange
  readonly #sink: Pick<TickSink, 'setTradable'>
  /** Markets that the last answer lacked, and since when they have to be confirmed, or are. */
  #absent: ReadonlyMap<Market, Asked> = new Map()

  constructor(exchange: Exchange, sink: Pick<TickSink, 'setTradable'>, openedAt: EpochMs) {
    this.#exchange = exchange
    this.#sink = sink
    this.answeredAt = openedAt
  }

  /**
   * Takes an answer on the markets of interest; returns whether one of them is absent for the first time. Without an
   * answer the next one is no second one in a row.
   */
  receive(answer: Answer | undefined, markets: readonly Market[]): boolean {
    const before = this.#absent
    const absent = new Map<Market, Asked>()
    this.#absent = absent
    if (answer === undefined) return false
    const { asked, trading } = answer
    let isInDoubt = false
    for (const market of markets) {
      const first = before.get(market)
      const isConfirmed = first !== undefined && asked.elapsed - first.elapsed >= CONFIRM_AFTER_MS
      if (trading.has(market)) this.#sink.setTradable(this.#exchange, market, true, asked.at)
      else if (isConfirmed) this.#sink.setTradable(this.#exchange, market, false, first.at)
      else isInDoubt = true
      if (!trading.has(market)) absent.set(market, isConfirmed ? asked : (first ?? asked))
    }
    return isInDoubt
  }
}
