import type { EpochMs } from '@kimchi/core'
import type { Door } from '@kimchi/feeds'
import type { QueueStatus } from '@kimchi/store'
import type { BackfillStatus } from './backfill/run-backfill.ts'
import type { Held } from './coins/coins-without-rows.ts'
import type { QuarantineStatus } from './coins/quarantine.ts'
import type { CatalogueStatus } from './coins/refresh-catalogue.ts'
import type { FeedsStatus } from './minute/exchange-feeds.ts'
import type { DayMendingStatus } from './minute/mend-days.ts'
import type { MinuteStatus } from './minute/minute-loop.ts'

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
