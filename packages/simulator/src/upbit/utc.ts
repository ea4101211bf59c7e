import type { EpochMs } from '../market/types.ts'

const DAY = 86_400_000
const KST = 9 * 3_600_000

/** 00:00 UTC of the day that holds `at`. */
export function dayStart(at: EpochMs): EpochMs {
  return Math.floor(at / DAY) * DAY
}

/** `yyyy-MM-dd` in UTC. */
export function isoDate(at: EpochMs): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** `yyyy-MM-ddTHH:mm:ss` in UTC, without zone. */
export function isoSeconds(at: EpochMs): string {
  return new Date(at).toISOString().slice(0, 19)
}

/** `yyyyMMdd` in UTC. */
export function compactDate(at: EpochMs): string {
  return isoDate(at).replaceAll('-', '')
}

/** `HHmmss` in UTC. */
export function compactTime(at: EpochMs): string {
  return isoSeconds(at).slice(11).replaceAll(':', '')
}

/** The instant whose UTC reading is `at`'s reading in Korea. */
export function asKoreanTime(at: EpochMs): EpochMs {
  return at + KST
}
