import type { EpochMinute } from '@kimchi/core'
import type { MinuteRange } from '@kimchi/store'
import { BLOCK_MINUTES } from './candle-block-cache.ts'

/**
 * The minutes of ascending ranges in windows, the newest first; each ascending. A window lies within one block
 * of Upbit, which lies within one of Binance.
 */
export function* windowsOf(ranges: readonly MinuteRange[]): Generator<readonly EpochMinute[], void, void> {
  for (let left = ranges; left.length > 0; ) {
    const newest = (left.at(-1)?.end ?? 0) - 1
    const start = newest - (newest % BLOCK_MINUTES.upbit)
    yield left.flatMap(range => minutesOf({ ...range, start: Math.max(range.start, start) }))
    left = before(left, start)
  }
}

/** The parts of the ranges before a minute. */
export function before(ranges: readonly MinuteRange[], minute: EpochMinute): readonly MinuteRange[] {
  return ranges
    .filter(({ start }) => start < minute)
    .map(({ start, end }) => ({ start, end: Math.min(end, minute) }))
}

/** Every minute of a range, ascending; none if the range ends before it starts. */
function minutesOf({ start, end }: MinuteRange): EpochMinute[] {
  return Array.from({ length: Math.max(0, end - start) }, (_, offset) => start + offset)
}
