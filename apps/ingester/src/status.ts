import { type EpochMs, type Gap, MINUTE_MS, type Milliseconds } from '@kimchi/core'
import type { Door } from '@kimchi/feeds'
import type { QueueStatus } from '@kimchi/store'
import type { BackfillStatus } from './backfill/run-backfill.ts'
import type { Held } from './coins/held-back.ts'
import type { QuarantineStatus } from './coins/quarantine.ts'
import type { CatalogueStatus } from './coins/refresh-catalogue.ts'
import type { FeedsStatus } from './minute/exchange-feeds.ts'
import type { DayMendingStatus } from './minute/mend-days.ts'
import { countReasons, type MinuteStatus } from './minute/minute-loop.ts'

/** More coins that are held back are only counted. */
const NAMED_COINS = 10

/** A market whose frames can't be read for this long is named. */
const UNREADABLE_AFTER_MS: Milliseconds = 2 * MINUTE_MS

/** The status of all parts, for `/ready`, `/metrics` and the status hash. */
export interface IngesterStatus {
  /** When it was taken. */
  readonly at: EpochMs
  readonly version: string
  readonly catalogue: CatalogueStatus
  readonly quarantine: QuarantineStatus
  readonly heldBack: readonly Held[]
  /** What waits at each exchange, why and until when. */
  readonly doors: readonly ReturnType<Door['status']>[]
  readonly feeds: FeedsStatus
  readonly minutes: MinuteStatus
  readonly queue: QueueStatus
  readonly backfill: BackfillStatus
  readonly mending: DayMendingStatus
}

/** The markets whose frames could not be read or placed in time for two minutes, up to now. */
export function unreadableOf({ at, feeds }: Pick<IngesterStatus, 'at' | 'feeds'>) {
  return feeds
    .flatMap(({ missed }) => missed)
    .filter(({ since, lastAt, isOver }) => {
      const until = isOver ? lastAt : at
      return until - since >= UNREADABLE_AFTER_MS && at - until < UNREADABLE_AFTER_MS
    })
    .map(({ market, count, since }) => ({ market, count, minutes: Math.floor((at - since) / MINUTE_MS) }))
}

/** Names the first of what is held back, and counts the others. */
export function nameSome(
  held: readonly Held[],
  name: (each: Held) => string,
  count: (more: number) => string,
): string[] {
  const more = held.length - NAMED_COINS
  return [...held.slice(0, NAMED_COINS).map(name), ...(more > 0 ? [count(more)] : [])]
}

/** How often each reason occurs, as a text. */
export function summarise(gaps: readonly Gap[]): string {
  const reasons = Object.entries(countReasons(gaps)).map(([reason, count]) => `${count} ${reason}`)
  return reasons.join(', ') || 'none'
}
