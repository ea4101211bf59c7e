import t from 'tap'
import { hasAll, isWhole, minutesOf, nextMinute, openFaultBed, untilStored } from './support/fault-bed.ts'

t.test('an ingester with a stale feed contributes nothing, the other one’s samples land', async t => {
  const { bed, raw } = await openFaultBed(t)
  const view = await bed.openView()
  const stale = bed.start('stale', { BACKFILL_DAYS: '0' }, view)
  const fresh = bed.start('fresh')
  await nextMinute(stale, hasAll)
  view.faults.set({ kind: 'silence', exchange: 'upbit' })
  const first = await nextMinute(stale, ({ gaps }) => gaps === 4)
  const { minute } = await nextMinute(fresh, line => hasAll(line) && line.minute > first.minute + 1)
  const contributed = minutesOf(stale).filter(line => line.minute > first.minute && line.samples > 0)
  t.strictSame(contributed, [], 'nothing from the stale one')
  const landed = await untilStored(raw, 'BTC', minute)
  t.match(landed, [/ live$/], 'a live sample from the other one')
  isWhole(t, await bed.settle())
})
