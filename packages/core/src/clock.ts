import type { EpochMs, Milliseconds } from './units.ts'

/**
 * The only source of time in the project, passed as an argument so that tests control it. `@kimchi/runtime`
 * has the real one, `systemClock`.
 */
export interface Clock {
  /** Wall-clock time, UTC. May step in either direction. */
  now(): EpochMs
  /** Elapsed time since some instant, steady even when `now()` steps. */
  elapsed(): Milliseconds
  /**
   * Resolves after `ms` of elapsed time. Resolves early, without an error, when `signal` aborts.
   */
  wait(ms: Milliseconds, signal?: AbortSignal): Promise<void>
}
