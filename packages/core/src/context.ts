import type { Clock } from './clock.ts'
import type { Log } from './log.ts'

/** What every long-running part is given from outside; only `main.ts` makes one. */
export interface Context {
  readonly clock: Clock
  /** As `Math.random`. */
  readonly random: () => number
  readonly log: Log
  /** Aborts when the app ends. */
  readonly signal: AbortSignal
}
