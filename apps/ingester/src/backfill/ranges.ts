import type { EpochMinute } from '@kimchi/core'
import type { MinuteRange } from '@kimchi/store'

/**
 * The parts of `ranges` that none of `others` covers. Both ascending and apart, as {@link joinRanges} leaves
 * them.
 */
export function subtractRanges(
  ranges: readonly MinuteRange[],
  others: readonly MinuteRange[],
): MinuteRange[] {
  const left: MinuteRange[] = []
  let next = 0
  for (const { start, end } of ranges) {
    while ((others[next]?.end ?? end) <= start) next += 1
    let from = start
    for (let index = next; from < end; index++) {
      const other = others[index]
      const until = Math.min(other?.start ?? end, end)
      if (from < until) left.push({ start: from, end: until })
      from = Math.max(from, other?.end ?? end)
    }
  }
  return left
}

/** The parts of the ranges that lie within `window`. */
export function intersectRanges(ranges: readonly MinuteRange[], window: MinuteRange): MinuteRange[] {
  return ranges
    .map(({ start, end }) => ({ start: Math.max(start, window.start), end: Math.min(end, window.end) }))
    .filter(({ start, end }) => start < end)
}

/** The same minutes with touching and overlapping ranges joined, ascending. */
export function joinRanges(ranges: readonly MinuteRange[]): MinuteRange[] {
  const joined: MinuteRange[] = []
  for (const range of [...ranges].sort((a, b) => a.start - b.start)) {
    const last = joined.at(-1)
    if (last === undefined || range.start > last.end) joined.push(range)
    else joined[joined.length - 1] = { start: last.start, end: Math.max(last.end, range.end) }
  }
  return joined
}

/** Minutes as ranges. */
export function rangesOf(minutes: Iterable<EpochMinute>): MinuteRange[] {
  return joinRanges([...minutes].map(minute => ({ start: minute, end: minute + 1 })))
}

/** Every minute of a range, ascending. */
export function minutesOf({ start, end }: MinuteRange): EpochMinute[] {
  return Array.from({ length: end - start }, (_, offset) => start + offset)
}

/** How many minutes the ranges hold together; they must not overlap. */
export function countMinutes(ranges: readonly MinuteRange[]): number {
  return ranges.reduce((sum, { start, end }) => sum + end - start, 0)
}
