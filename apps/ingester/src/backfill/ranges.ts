import type { EpochMinute } from '@kimchi/core'
import type { MinuteRange } from '@kimchi/store'

/** The parts of `range` that none of `others` covers, ascending. */
export function subtractRanges(range: MinuteRange, others: readonly MinuteRange[]): MinuteRange[] {
  let left: MinuteRange[] = [range]
  for (const { start, end } of others) {
    left = left.flatMap(part => [
      ...(part.start < Math.min(start, part.end)
        ? [{ start: part.start, end: Math.min(start, part.end) }]
        : []),
      ...(Math.max(end, part.start) < part.end ? [{ start: Math.max(end, part.start), end: part.end }] : []),
    ])
  }
  return left.sort((a, b) => a.start - b.start)
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

/** Every minute of a range, ascending. */
export function minutesOf({ start, end }: MinuteRange): EpochMinute[] {
  return Array.from({ length: end - start }, (_, offset) => start + offset)
}

/** How many minutes the ranges hold together; they must not overlap. */
export function countMinutes(ranges: readonly MinuteRange[]): number {
  return ranges.reduce((sum, { start, end }) => sum + end - start, 0)
}

/**
 * Windows of at most `size` minutes that together hold all minutes of `ranges`, newest first; each begins and ends with a
 * wanted minute, so that nothing is fetched for the empty stretches between them.
 */
export function windowsOf(ranges: readonly MinuteRange[], size: number): MinuteRange[] {
  const windows: MinuteRange[] = []
  let left = joinRanges(ranges)
  for (let newest = left.at(-1); newest !== undefined; newest = left.at(-1)) {
    const start = Math.max(newest.end - size, (left[0] as MinuteRange).start)
    const inside = left.filter(range => range.end > start)
    windows.push({ start: Math.max(start, (inside[0] as MinuteRange).start), end: newest.end })
    left = left.flatMap(range => subtractRanges(range, [{ start, end: Number.POSITIVE_INFINITY }]))
  }
  return windows
}
