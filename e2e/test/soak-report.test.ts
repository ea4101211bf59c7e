import t from 'tap'
import { growthOf, type Reading, tableOf } from '../src/soak/report.ts'

/** A run whose memory follows `rssMb`, read every five seconds. */
function run(minutes: number, rssMb: (minute: number) => number): Reading[] {
  return Array.from({ length: minutes * 12 }, (_, index) => {
    const minute = (index + 1) / 12
    return {
      minute,
      processes: { api: { rssMb: rssMb(minute), handles: 20, sockets: 10 } },
      redis: index === 3 ? undefined : { keys: 400, usedMb: 2, clients: 9 },
      requests: index * 500,
      failed: 0,
    }
  })
}

t.test('memory that still grows in the last third of a long run is named', async t => {
  t.strictSame(growthOf(run(30, minute => 100 + minute)), ['api grew by 10.0 MB in the last third'])
})

t.test('memory that settles after the start is no growth', async t => {
  t.strictSame(growthOf(run(30, minute => 100 + Math.min(minute, 10) * 5)), [])
  t.strictSame(growthOf(run(30, minute => 100 + minute / 2.1)), [], 'nor are 5 MB')
})

t.test('a short run says nothing about slopes', async t => {
  t.strictSame(growthOf(run(14, minute => 100 + minute * 10)), [])
})

t.test('the table has the median of each third and the largest value, and a gap is no zero', async t => {
  const rows = tableOf(run(3, minute => 100 + Math.floor(minute)))
  t.match(rows, [
    {
      '': 'api memory, MB',
      'first third': '100',
      'second third': '101',
      'last third': '102',
      largest: '103',
    },
  ])
  t.match(
    rows.find(row => row[''] === 'Redis keys'),
    { 'first third': '400', largest: '400' },
  )
})
