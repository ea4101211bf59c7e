import type { EpochMinute, EpochMs, Milliseconds, UtcDate } from './units.ts'

export const MINUTE_MS: Milliseconds = 60_000
export const HOUR_MS: Milliseconds = 3_600_000
export const DAY_MS: Milliseconds = 86_400_000
export const DAY_MINUTES = 1_440

/** The last minute boundary at or before `at`. */
export function minuteOf(at: EpochMs): EpochMinute {
  return Math.floor(at / MINUTE_MS)
}

export function minuteStart(minute: EpochMinute): EpochMs {
  return minute * MINUTE_MS
}

/** The UTC date that minute M belongs to: day D holds D 00:00 ≤ M < D+1 00:00. */
export function dateOf(minute: EpochMinute): UtcDate {
  return new Date(minuteStart(minute)).toISOString().slice(0, 10)
}

/** The first minute of the UTC day that `minute` belongs to. */
export function dayStart(minute: EpochMinute): EpochMinute {
  return Math.floor(minute / DAY_MINUTES) * DAY_MINUTES
}

/**
 * A minute as `YYYY-MM-DDTHH:MM:SS` in UTC without zone designator, the API's format.
 * @see docs/architecture.md#definitions
 */
export function formatTimestamp(minute: EpochMinute): string {
  return new Date(minuteStart(minute)).toISOString().slice(0, 19)
}

/** The minute of an API timestamp, or undefined when the text is none. Inverse of {@link formatTimestamp}. */
export function parseTimestamp(text: string): EpochMinute | undefined {
  const minute = minuteOf(Date.parse(`${text}Z`))
  return !Number.isNaN(minute) && formatTimestamp(minute) === text ? minute : undefined
}
