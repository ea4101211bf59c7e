import t from 'tap'
import { memoryGrowth, type Reading, resourceTable } from '../src/soak/resource-use.ts'

/** A run whose memory follows `mb`, read every five seconds; Redis did not answer once. */
function run(minutes: number, mb: (minute: number) => number): Reading[] {
  return Array.from({ length: minutes * 12 }, (_, index) => ({
    'API memory, MB': mb((index + 1) / 12),
    requests: index * 500,
    ...(index === 3 ? {} : { 'Redis keys': 400 }),
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

t.test('a short run says nothing about slopes', async t => {
  t.strictSame(
    memoryGrowth(
      run(14, minute => 100 + minute * 10),
      14,
    ),
    [],
  )
})

t.test('the table has the median of each third and the largest value, and a gap is no zero', async t => {
  const rows = resourceTable(run(3, minute => 100 + Math.floor(minute)))
  const [memory, , keys] = rows
  t.strictSame(memory, {
    '': 'API memory, MB',
    'first third': '100',
    'second third': '101',
    'last third': '102',
    largest: '103',
  })
  t.match(keys, { '': 'Redis keys', 'first third': '400', largest: '400' })
})
