import { type EpochMs, type Gap, MINUTE_MS, type Milliseconds, RATE_MARKET } from '@kimchi/core'
import type { QueueStatus } from '@kimchi/store'
import type { BackfillStatus } from './backfill/run-backfill.ts'
import type { QuarantineStatus } from './coins/quarantine.ts'
import type { CatalogueStatus } from './coins/refresh-catalogue.ts'
import type { FeedsStatus } from './minute/exchange-feeds.ts'
import type { DayMendingStatus } from './minute/mend-days.ts'
import { countReasons, type MinuteStatus } from './minute/minute-loop.ts'

/** With fewer implausible coins than this, they are as likely to be wrong as the rate. */
const FEWEST_FOR_RATE = 3

/** A market whose frames can't be read for this long is named. */
const UNREADABLE_AFTER_MS: Milliseconds = 2 * MINUTE_MS

/** The status of all parts, for `/ready`, `/metrics` and the status hash. */
export interface IngesterStatus {
  /** When it was taken. */
  readonly at: EpochMs
  readonly version: string
  readonly startedAt: EpochMs
  readonly catalogue: CatalogueStatus
  readonly quarantine: QuarantineStatus
  readonly feeds: FeedsStatus
  readonly minutes: MinuteStatus
  readonly queue: QueueStatus
  readonly backfill: BackfillStatus
  readonly mending: DayMendingStatus
}

/** What was implausible in the last minute: coins, or the rate where most coins are. */
export function implausibleOf({ last }: MinuteStatus) {
  const found = (last?.gaps ?? []).flatMap(({ symbol, prices }) => (prices ? [{ symbol, prices }] : []))
  const rate = found[0]?.prices[RATE_MARKET]
  const isRate = found.length >= FEWEST_FOR_RATE && found.length > (last?.samples.length ?? 0)
  if (isRate) return [{ symbol: RATE_MARKET, prices: `${RATE_MARKET} at ${rate}`, isRate }]
  return found.map(({ symbol, prices }) => {
    const own = Object.entries(prices).filter(([market]) => market !== RATE_MARKET)
    const texts = own.map(([market, price]) => `${market} at ${price}`)
    return { symbol, prices: texts.join(' and '), isRate }
  })
}

/** The markets whose frames could not be read or placed in time for two minutes, up to now. */
export function unreadableOf({ at, feeds }: Pick<IngesterStatus, 'at' | 'feeds'>) {
  return feeds.feeds
    .flatMap(({ missed }) => missed)
    .filter(({ since, lastAt, isOver }) => {
      const until = isOver ? lastAt : at
      return until - since >= UNREADABLE_AFTER_MS && at - until < UNREADABLE_AFTER_MS
    })
    .map(({ market, count, since }) => ({ market, count, minutes: Math.floor((at - since) / MINUTE_MS) }))
}

/** How often each reason occurs, as a text. */
export function summarise(gaps: readonly Gap[]): string {
  const reasons = Object.entries(countReasons(gaps)).map(([reason, count]) => `${count} ${reason}`)
  return reasons.join(', ') || 'none'
}
