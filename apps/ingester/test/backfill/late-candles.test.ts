import { minuteStart } from '@kimchi/core'
import { passUntil } from '@kimchi/testkit'
import t from 'tap'
import { BTC, ETH, openBench, openExchanges, YESTERDAY } from '../support/backfill-bench.ts'

const exchanges = await openExchanges(t)
const at = (minute: number) => minuteStart(YESTERDAY + minute)

// docs/faults.md, 58
t.test('a candle that comes late is no silence', async t => {
  const { start, clock, check, reader, isWhole } = await openBench(t, exchanges)
  const lateMs = new Map([
    [YESTERDAY + 361, 25_000],
    [YESTERDAY + 362, 90_000],
  ])
  const { noteMinute } = start([BTC, ETH], {
    around: fetchCandles => async range => {
      const page = await fetchCandles(range)
      // A candle comes no sooner than those before it.
      const isThere = ([minute]: (typeof page.candles)[number]) =>
        [...lateMs].every(([late, ms]) => minute <= late || clock.now() >= minuteStart(late + 1) + ms)
      return range.market === ETH.upbit ? { ...page, candles: page.candles.filter(isThere) } : page
    },
  })
  await passUntil(clock, 'both are whole', isWhole([BTC, ETH]))
  const closedAt = new Map<number, number>()
  for (const minute of [362, 363]) {
    clock.step(Math.max(0, at(minute) + 5_000 - clock.now()))
    noteMinute({ minute: YESTERDAY + minute, waiting: [] })
    await passUntil(clock, 'some seconds', () => clock.now() > at(minute) + 20_000)
    const open = await reader.readOpenMinutes('ETH', YESTERDAY + minute, YESTERDAY + minute + 1)
    t.equal(open.length, 1, 'nothing is stored without the candle')
  }
  await passUntil(clock, 'all is filled', async () => {
    for (const minute of [362, 363]) {
      const open = await reader.readOpenMinutes('ETH', YESTERDAY + minute, YESTERDAY + minute + 1)
      if (open.length === 0 && !closedAt.has(minute)) closedAt.set(minute, clock.now() - at(minute))
    }
    return closedAt.size === 2
  })
  t.ok(Math.max(...closedAt.values()) <= 300_000, `closed ${[...closedAt.values()].join(' and ')} ms after`)
  t.match(await check([BTC, ETH], 364), { lost: 0, doubled: 0, wrong: 0 })
})
