import { formatTimestamp, minuteStart } from '@kimchi/core'
import { createMemoryLog, fetchFrom, passUntil } from '@kimchi/testkit'
import t from 'tap'
import { BTC, ETH, openBench, openExchanges, YESTERDAY } from '../support/backfill-bench.ts'

type Row = Record<string, unknown>

const exchanges = await openExchanges(t)

/** Changes the rows of a market's candles on their way here; undefined leaves them. */
let spoil: ((row: Row, market: string) => unknown) | undefined

/** Both exchanges, behind something that spoils rows of candles. */
const answer: typeof exchanges.simulator.answer = (url, caller) => {
  const found = exchanges.simulator.answer(url, caller)
  const market = url.searchParams.get('market') ?? url.searchParams.get('symbol')
  if (found === undefined || market === null || spoil === undefined) return found
  const rows = JSON.parse(found.text) as readonly Row[]
  return { ...found, text: JSON.stringify(rows.map(row => spoil?.(row, market) ?? row)) }
}
const fetch = fetchFrom({ answer })
const RIGHT = { lost: 0, doubled: 0, wrong: 0 }
const at = (minute: number) => minuteStart(YESTERDAY + minute)

// docs/faults.md, 103
t.test('a market none of whose dates can be read settles nothing, and is named', async t => {
  const { start, reader, clock, check, isWhole } = await openBench(t, { ...exchanges, fetch })
  spoil = (row, asked) =>
    asked === ETH.upbit ? { ...row, candle_date_time_utc: `${row.candle_date_time_utc}+00:00` } : undefined
  const log = createMemoryLog()
  const { status } = start([BTC, ETH], { log })
  await passUntil(clock, 'half an hour', () => clock.now() > at(390), 5_000)
  t.match(status(), { settled: 0, troubled: [{ symbol: 'ETH', reason: /KRW-ETH.*cannot be read/ }] })
  t.match(await reader.readOpenMinutes('ETH', YESTERDAY, YESTERDAY + 380), [
    { start: YESTERDAY, end: YESTERDAY + 380 },
  ])
  t.match(
    log.lines.find(({ message }) => message.startsWith('a coin waits')),
    { fields: { symbol: 'ETH' } },
  )
  t.match(await check([BTC], 380), RIGHT, 'the other coin is filled')
  spoil = undefined
  await passUntil(clock, 'it is filled too', isWhole([BTC, ETH]), 5_000)
  t.match(await check([ETH], 380), RIGHT)
})

// docs/faults.md, 103
t.test('one row that cannot be read leaves one minute open, and the others are filled', async t => {
  const { start, reader, clock, isWhole } = await openBench(t, { ...exchanges, fetch })
  spoil = (row, asked) =>
    asked === ETH.upbit && row.candle_date_time_utc === formatTimestamp(YESTERDAY + 99)
      ? { ...row, trade_price: null }
      : undefined
  const { status } = start([ETH])
  const readOpen = () => reader.readOpenMinutes('ETH', YESTERDAY, YESTERDAY + 360)
  const only = [{ start: YESTERDAY + 100, end: YESTERDAY + 101 }]
  const isFilled = async () => JSON.stringify(await readOpen()) === JSON.stringify(only)
  await passUntil(clock, 'the others are filled', isFilled, 5_000)
  t.match(status().unreadable.reasons, [/^upbit candles of KRW-ETH: .* 1 of its 200 rows cannot be read/])
  spoil = undefined
  await passUntil(clock, 'it is filled too', isWhole([ETH]), 5_000)
})
