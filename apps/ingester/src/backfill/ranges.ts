import type { EpochMinute } from '@kimchi/core'

/** The minutes from `from` up to, not including, `to`. */
export interface MinuteRange {
  readonly from: EpochMinute
  readonly to: EpochMinute
}

/** The parts of `range` that none of `others` covers, ascending. */
export function subtractRanges(range: MinuteRange, others: readonly MinuteRange[]): MinuteRange[] {
  let left: MinuteRange[] = [range]
  for (const { from, to } of others) {
    left = left.flatMap(part => [
      ...(part.from < Math.min(from, part.to) ? [{ from: part.from, to: Math.min(from, part.to) }] : []),
      ...(Math.max(to, part.from) < part.to ? [{ from: Math.max(to, part.from), to: part.to }] : []),
    ])
  }
  return left.sort((a, b) => a.from - b.from)
}

/** The same minutes with touching and overlapping ranges joined, ascending. */
export function joinRanges(ranges: readonly MinuteRange[]): MinuteRange[] {
  const joined: MinuteRange[] = []
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last === undefined || range.from > last.to) joined.push(range)
    else joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, range.to) }
  }
  return joined
}

/** How many minutes the ranges hold together; they must not overlap. */
export function countMinutes(ranges: readonly MinuteRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from, 0)
}

/**
 * Windows of at most `size` minutes that together hold all minutes of `ranges`, newest first; each begins and ends with a
 * wanted minute, so that nothing is fetched for the empty stretches between them.
 */
export function windowsOf(ranges: readonly MinuteRange[], size: number): MinuteRange[] {
  const windows: MinuteRange[] = []
  let left = joinRanges(ranges)
  for (let newest = left.at(-1); newest !== undefined; newest = left.at(-1)) {
    const from = Math.max(newest.to - size, (left[0] as MinuteRange).from)
    const inside = left.filter(range => range.to > from)
    windows.push({ from: Math.max(from, (inside[0] as MinuteRange).from), to: newest.to })
    left = left.flatMap(range => subtractRanges(range, [{ from, to: Number.POSITIVE_INFINITY }]))
  }
  return windows
}
