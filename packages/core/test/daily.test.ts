import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { averageE4, foldDays } from '../src/daily.ts'
import { DAY_MINUTES, dateOf } from '../src/time.ts'

const LEAP_DAY = Date.UTC(2028, 1, 29) / 60_000

const samples = fc.uniqueArray(
  fc.record({
    minute: fc.integer({ min: LEAP_DAY - 40, max: LEAP_DAY + DAY_MINUTES + 40 }),
    premiumE4: fc.integer({ min: -1e10, max: 1e10 }),
  }),
  { selector: sample => sample.minute, maxLength: 60 },
)

t.test('the fold equals a recomputation that sorts first', async () => {
  fc.assert(
    fc.property(samples, list => {
      const inOrder = list.toSorted((a, b) => a.minute - b.minute)
      const expected = [...new Set(inOrder.map(({ minute }) => dateOf(minute)))].map(date => {
        const own = inOrder.filter(({ minute }) => dateOf(minute) === date)
        const premiums = own.map(({ premiumE4 }) => premiumE4)
        const [open, close, samples] = [premiums[0], premiums.at(-1), own.length]
        const [firstMinute, lastMinute] = [own[0]?.minute, own.at(-1)?.minute]
        const [low, high] = [Math.min(...premiums), Math.max(...premiums)]
        const sum = premiums.reduce((total, premium) => total + premium, 0)
        return { date, open, high, low, close, sum, samples, firstMinute, lastMinute }
      })
      return isDeepStrictEqual(foldDays(list), expected)
    }),
  )
})

t.test('an average is never minus zero', async t => {
  t.ok(Object.is(averageE4({ sum: -1, samples: 3 }), 0))
  t.ok(Object.is(averageE4({ sum: -0, samples: 1 }), 0))
})

t.test('the average is exact for any sum a day can have', async () => {
  const sum = fc.integer({ min: -1_440e10, max: 1_440e10 })
  fc.assert(
    fc.property(sum, fc.integer({ min: 1, max: 1_440 }), (total, count) => {
      const mean = BigInt(averageE4({ sum: total, samples: count }))
      const doubleError = 2n * (mean * BigInt(count) - BigInt(total))
      const outward = total < 0 ? -doubleError : doubleError
      return outward > -BigInt(count) && outward <= BigInt(count)
    }),
    { numRuns: 2_000 },
  )
})
