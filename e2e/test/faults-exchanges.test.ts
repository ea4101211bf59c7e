import { HOUR_MS, MINUTE_MS } from '@kimchi/core'
import t from 'tap'
import { openRedisBed } from '../src/testbed.ts'
import {
  hasAll,
  isWhole,
  type MinuteLine,
  minutesOf,
  nextMinute,
  readable,
  untilStored,
} from './support/observations.ts'

t.test('exchanges quiet and wrong, and ingesters frozen, stale or away', async t => {
  const { bed, raw } = await openRedisBed(t)
  const { clock, exchanges } = bed
  const ingester = bed.start('a')
  await nextMinute(ingester, hasAll)
  /** Minutes that only candles may fill, checked at the end. */
  const leftToCandles: number[] = []
  const live = (symbol: string, minute: number) => readable(raw, symbol, minute, minute + 1)
  const stored = (symbol: string, minute: number) => untilStored(raw, symbol, minute)

  // docs/faults.md, 15
  await t.test('a quiet coin’s last price is carried', async t => {
    const { minute } = await nextMinute(ingester, hasAll)
    const trade = exchanges.prices.lastTrade('upbit', 'KRW-KNC', minute * MINUTE_MS)
    t.match(await stored('KNC', minute), [new RegExp(`upbit_krw=${trade?.price} .* live$`)])
  })

  // docs/faults.md, 20
  await t.test('a tenfold rate for less than a minute never reaches history', async () => {
    const { minute } = await nextMinute(ingester, hasAll)
    await clock.until((minute + 1) * MINUTE_MS - 15_000)
    const spike = bed.scalePrice('upbit', 'KRW-USDT', 10)
    const { minute: spiked } = await nextMinute(ingester, line => line.minute > minute)
    spike()
    await nextMinute(ingester, hasAll)
    leftToCandles.push(spiked)
  })

  // docs/faults.md, 20
  await t.test('a jump that stays reaches history, with its first minute', async t => {
    // A fifth sample is that of the minute before, which waited for this one.
    const writesTwo = ({ samples }: MinuteLine) => samples === 5
    /** The first minute after a jump; undefined where a gap left it to a candle, so that no sample had to wait. */
    const firstAfterJump = async () => {
      const { minute } = await nextMinute(ingester, () => true)
      const turn = await nextMinute(ingester, line => writesTwo(line) || line.minute > minute + 2)
      return writesTwo(turn) ? turn.minute - 1 : undefined
    }
    for (let first: number | undefined; first === undefined; ) {
      const jump = bed.scalePrice('upbit', 'KRW-ETH', 1.25)
      first = await firstAfterJump()
      jump()
      if (first !== undefined) t.match(await stored('ETH', first), [/ 2\d\.\d{4}% .* live$/])
      // Its way back is a jump as well.
      await firstAfterJump()
    }
  })

  // docs/faults.md, 24
  await t.test('an ingester frozen for 90 s invents no minute', async () => {
    const { minute } = await nextMinute(ingester, hasAll)
    ingester.child.kill('SIGSTOP')
    await clock.until((minute + 2) * MINUTE_MS + 30_000)
    ingester.child.kill('SIGCONT')
    await nextMinute(ingester, hasAll)
    leftToCandles.push(minute + 1)
  })

  await t.test('one with a stale feed contributes nothing, the other one’s samples land', async t => {
    const view = await bed.openView()
    const stale = bed.start('stale', { BACKFILL_DAYS: '0' }, view)
    await nextMinute(stale, hasAll)
    view.faults.set({ kind: 'silence', exchange: 'upbit' })
    const first = await nextMinute(stale, ({ gaps }) => gaps === 4)
    const { minute } = await nextMinute(ingester, line => hasAll(line) && line.minute > first.minute + 1)
    const contributed = minutesOf(stale).filter(line => line.minute > first.minute && line.samples > 0)
    t.strictSame(contributed, [], 'nothing from the stale one')
    t.match(await stored('BTC', minute), [/ live$/], 'a live sample from the other one')
  })

  // docs/faults.md, 13
  await t.test('three hours away', async () => {
    await bed.killAll()
    clock.jump(3 * HOUR_MS)
  })

  isWhole(t, await bed.settle())
  for (const minute of leftToCandles) {
    t.match(await live('BTC', minute), [/ candle$/], 'what no live sample could say, a candle did')
  }
})
