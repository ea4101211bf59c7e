import type { Clock } from './clock.ts'
import type { Log } from './log.ts'

/** What every long-running part is given from outside. */
export interface Context {
  readonly clock: Clock
  /** As `Math.random`. */
  readonly random: () => number
  readonly log: Log
  /** Aborts when the app ends. */
  readonly signal: AbortSignal
}
