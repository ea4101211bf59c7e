import type { EpochMs, Market, Milliseconds } from '@kimchi/core'
import type { Asked } from '../http.ts'
import type { Answer } from './trading-status.ts'

/** SNAPSHOTs follow a subscription at once; what may be lost later than this is none of them. */
const ANSWERED_WITHIN_MS: Milliseconds = 5_000

/** What has come since the subscription was last sent again. */
interface Renewal {
  readonly asked: Asked
  readonly markets: readonly Market[]
  /** Markets of which a SNAPSHOT came, whatever it says. */
  readonly shown: Set<Market>
  /** Markets whose last frame does not say that they don't trade. */
  readonly trading: Map<Market, undefined>
  /** Whether nothing was lost while its SNAPSHOTs came. */
  isWhole: boolean
}

/**
 * Which markets trade on Upbit, by what follows each renewal of the subscription. It answers when the next one is sent:
 * nothing may have been lost in its first 5 s, and SNAPSHOTs of half of the markets must have come. An exchange that
 * sends none for a list it knows already has not answered.
 */
export class Renewals {
  #last: Renewal | undefined

  /** Notes that the subscription is sent again; returns the answer to the renewal before, for markets in both. */
  renew(asked: Asked, markets: readonly Market[]): Answer | undefined {
    const last = this.#last
    this.#last = { asked, markets, shown: new Set(), trading: new Map(), isWhole: false }
    const shown = last?.markets.filter(market => last.shown.has(market)) ?? []
    if (!last?.isWhole || shown.length * 2 < last.markets.length) return undefined
    return { ...last, markets: last.markets.filter(market => markets.includes(market)) }
  }

  /** Notes a frame of a market. */
  hear(market: Market, isSnapshot: boolean, tradable: boolean | undefined): void {
    if (isSnapshot) this.#last?.shown.add(market)
    if (tradable === false) this.#last?.trading.delete(market)
    else this.#last?.trading.set(market, undefined)
  }

  /** Notes that the stream has gone on until now without a loss. */
  wholeUntil(at: EpochMs): void {
    if (this.#last && at - this.#last.asked.at >= ANSWERED_WITHIN_MS) this.#last.isWhole = true
  }

  /** Notes that frames may have been lost: a renewal whose SNAPSHOTs may be among them answers nothing. */
  interrupted(): void {
    if (!this.#last?.isWhole) this.#last = undefined
  }
}
