import t from 'tap'
import { memoryGrowth, type Reading } from '../src/soak/resource-use.ts'

/** A run whose memory follows `mb`, read every five seconds. */
function run(minutes: number, mb: (minute: number) => number): Reading[] {
  return Array.from({ length: minutes * 12 }, (_, index) => ({
    'API memory, MB': mb((index + 1) / 12),
  }))
}

// docs/faults.md, 35
t.test('memory that still grows in the last third of a long run is named', async t => {
  t.strictSame(
    memoryGrowth(
      run(30, minute => 100 + minute),
      30,
    ),
    ['API memory, MB: grew by 10.0 MB from the middle third to the last'],
  )
})

t.test('memory that settles after the start is no growth', async t => {
  t.strictSame(
    memoryGrowth(
      run(30, minute => 100 + Math.min(minute, 10) * 5),
      30,
    ),
    [],
  )
  t.strictSame(
    memoryGrowth(
      run(30, minute => 100 + minute / 2.1),
      30,
    ),
    [],
    'nor are 5 MB',
  )
})
