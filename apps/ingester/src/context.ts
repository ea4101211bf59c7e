import type { Clock, Milliseconds } from '@kimchi/core'
import type { Logger } from '@kimchi/runtime'
import type { Config } from './config.ts'

/** What an ingester gets from the outside. */
export interface IngesterOptions {
  readonly config: Config
  readonly log: Logger
  readonly clock: Clock
  /** As `Math.random`. */
  readonly random: () => number
  /** Names this ingester among others on the same Redis. */
  readonly id: string
  readonly version: string
  /** How often the market lists are loaded. @default an hour */
  readonly refreshMs?: Milliseconds
}

/** What every part of an ingester works with. */
export interface Context extends IngesterOptions {
  readonly signal: AbortSignal
  readonly fail: (thrown: unknown) => void
}
