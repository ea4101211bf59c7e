import type { MinuteRange } from '@kimchi/store'
import fc from 'fast-check'
import t from 'tap'
import { countMinutes, joinRanges, subtractRanges } from '../../src/backfill/ranges.ts'

const range = fc
  .tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 1, max: 60 }))
  .map(([start, length]) => ({ start, end: start + length }))

function minutes(ranges: readonly MinuteRange[]): Set<number> {
  return new Set(
    ranges.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, offset) => start + offset)),
  )
}

t.test('subtracting leaves exactly the minutes that the others do not hold, ascending and apart', async t => {
  fc.assert(
    fc.property(fc.array(range), fc.array(range), (whole, others) => {
      const left = subtractRanges(joinRanges(whole), joinRanges(others))
      const expected = [...minutes(joinRanges(whole))].filter(minute => !minutes(others).has(minute))
      t.strictSame([...minutes(left)], expected)
      t.equal(countMinutes(left), expected.length)
    }),
  )
})

t.test('joining keeps the minutes and leaves no two ranges that touch', async t => {
  fc.assert(
    fc.property(fc.array(range), ranges => {
      const joined = joinRanges(ranges)
      t.strictSame(
        [...minutes(joined)],
        [...minutes(ranges)].sort((a, b) => a - b),
      )
      joined.forEach((part, index) => {
        t.ok(index === 0 || part.start > (joined[index - 1] as MinuteRange).end)
      })
    }),
  )
})
