import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { hasAll, isWhole, minutesOf, nextMinute, openFaultBed, untilStored } from './support/fault-bed.ts'

// docs/faults.md, 1
t.test('of two ingesters either may be killed at any time', async t => {
  const { bed } = await openFaultBed(t)
  const zones = { a: { TZ: 'Asia/Seoul' }, b: { TZ: 'America/St_Johns' } }
  const running = { a: bed.start('a', zones.a), b: bed.start('b', zones.b) }
  for (let kill = 0; kill < 8; kill++) {
    await delay(500 + Math.random() * 2_000)
    const id = Math.random() < 0.5 ? 'a' : 'b'
    await running[id].end('SIGKILL')
    running[id] = bed.start(id, zones[id])
  }
  isWhole(t, await bed.settle())
})

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
