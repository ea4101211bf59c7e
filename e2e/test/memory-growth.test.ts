import t from 'tap'
import { memoryGrowth } from '../src/memory-growth.ts'

/** What is said of a run of 30 minutes whose memory follows `mb`, read every five seconds. */
function growthOf(mb: (minute: number) => number): string[] {
  const readings = Array.from({ length: 360 }, (_, index) => ({ API: mb((index + 1) / 12) }))
  return memoryGrowth(readings, 30)
}

// docs/faults.md, 35
t.test('memory that still grows in the last third of a long run is named', async t => {
  t.strictSame(
    growthOf(minute => 100 + minute),
    ['API: grew by 10.0 MB from the middle third to the last'],
  )
  t.strictSame(
    growthOf(minute => 100 + Math.min(minute, 10) * 5),
    [],
    'not what settles after the start',
  )
  t.strictSame(
    growthOf(minute => 100 + minute / 2.1),
    [],
    'nor 5 MB',
  )
})
