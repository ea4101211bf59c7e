import type { Market } from '@kimchi/core'
import type { Asked } from '../http.ts'
import type { Answer } from './trading-status.ts'

/** What has come since the subscription was last sent again. */
interface Renewal {
  readonly asked: Asked
  readonly markets: readonly Market[]
  /** Markets of which a SNAPSHOT came, whatever it says. */
  readonly shown: Set<Market>
  /** Markets whose last frame does not say that they don't trade. */
  readonly trading: Map<Market, undefined>
}

/**
 * Which markets trade on Upbit, by what follows each renewal of the subscription. It answers when the next one is
 * sent: until then every frame must have arrived, and SNAPSHOTs of half of the markets. An exchange that sends none for
 * a list it knows already has not answered.
 */
export class Renewals {
  #last: Renewal | undefined

  /** Notes that the subscription is sent again; returns the answer to the renewal before, if it is one. */
  renew(asked: Asked, markets: readonly Market[]): Answer | undefined {
    const last = this.#last
    this.#last = { asked, markets, shown: new Set(), trading: new Map() }
    if (last === undefined) return undefined
    const isAnswer = last.markets.filter(market => last.shown.has(market)).length * 2 >= last.markets.length
    return isAnswer ? last : undefined
  }

  /** Notes a frame of a market. */
  hear(market: Market, isSnapshot: boolean, tradable: boolean | undefined): void {
    if (isSnapshot) this.#last?.shown.add(market)
    if (tradable === false) this.#last?.trading.delete(market)
    else this.#last?.trading.set(market, undefined)
  }

  /** Drops the renewal under way: frames may have been lost, so that it answers nothing. */
  interrupted(): void {
    this.#last = undefined
  }
}
