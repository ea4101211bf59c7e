import { existsSync, readFileSync } from 'node:fs'
import { formatTimestamp, minuteStart } from '@kimchi/core'
import t from 'tap'
import { type CandleRequest, readCandles, UnreadableCandles } from '../../src/rest/candles.ts'

/** 2026-11-25T12:00Z as an epoch minute. */
const NOON = Date.UTC(2026, 10, 25, 12) / 60_000
const CASES = new URL('../../../../../shared/cases/candles.json', import.meta.url)
const noCases = existsSync(CASES) ? false : 'the cases are not on this machine'

const REQUESTS: Readonly<Record<'upbit' | 'binance', CandleRequest>> = {
  upbit: { exchange: 'upbit', market: 'KRW-DOT', count: 200 },
  binance: { exchange: 'binance', market: 'DOTUSDT', count: 200 },
}

type Row = Record<string | number, unknown>

/** A row as each exchange writes it. */
const ROWS = {
  upbit: (minute: number, price = 3_120, volume = 3.5): Row => ({
    market: 'KRW-DOT',
    candle_date_time_utc: formatTimestamp(minute),
    trade_price: price,
    candle_acc_trade_volume: volume,
  }),
  binance: (minute: number, price = 2.65, volume = 12.5): Row =>
    [minuteStart(minute), '2.6', '2.7', '2.5', `${price}`, `${volume}`] as unknown as Row,
}

/** Twenty candles in the exchange's order, of two minutes each. */
function pageOf(exchange: 'upbit' | 'binance'): Row[] {
  const rows = Array.from({ length: 20 }, (_, at) => ROWS[exchange](NOON + 2 * at))
  return exchange === 'upbit' ? rows.reverse() : rows
}

/** Which of the minutes from NOON on open neither a candle nor are known to have none. */
function unknownOf(error: UnreadableCandles): number[] {
  const there = new Set(error.candles.map(([minute]) => minute))
  const isBad = (minute: number) =>
    error.unreadable.some(bad => bad === undefined || bad === minute) && !there.has(minute)
  return Array.from({ length: 39 }, (_, at) => at).filter(at => isBad(NOON + at + 1))
}

function refusalOf(json: unknown, exchange: 'upbit' | 'binance'): UnreadableCandles | undefined {
  try {
    readCandles(json, REQUESTS[exchange])
    return undefined
  } catch (thrown) {
    if (thrown instanceof UnreadableCandles) return thrown
    throw thrown
  }
}

/** Values that are no price and no volume in either exchange's format. */
const NO_NUMBERS: readonly unknown[] = [
  null,
  undefined,
  '',
  'NaN',
  '1e3',
  '-1',
  '1,000',
  '1.',
  -1,
  Number.POSITIVE_INFINITY,
  [3_120],
  true,
]
const NO_PRICES: readonly unknown[] = [...NO_NUMBERS, 0, '0', '0.0', 1e13, '10000000000000']
const NO_DATES: readonly unknown[] = [
  null,
  undefined,
  '',
  '2026-11-25',
  '2026-11-25T12:02:00Z',
  '2026-11-25T12:02:30',
  minuteStart(NOON + 2),
]
const NO_TIMES: readonly unknown[] = [
  null,
  undefined,
  [],
  `${minuteStart(NOON + 2)}`,
  minuteStart(NOON + 2) + 1,
  Number.POSITIVE_INFINITY,
]
const NO_ROWS: readonly unknown[] = [null, undefined, 5, 'text', [], {}]

/** What makes of a good row a bad one, each with whether its minute can still be read. */
const each = (values: readonly unknown[], spoil: (row: Row, value: unknown) => unknown, isDated = true) =>
  values.map(value => ({ change: (row: Row) => spoil(row, value), isDated }))

const SPOILT = {
  upbit: [
    ...each([...NO_PRICES, '3120'], (row, trade_price) => ({ ...row, trade_price })),
    ...each([...NO_NUMBERS, '3.5'], (row, volume) => ({ ...row, candle_acc_trade_volume: volume })),
    ...each(NO_DATES, (row, date) => ({ ...row, candle_date_time_utc: date }), false),
    ...each(['KRW-ADA'], (row, market) => ({ ...row, market })),
    ...each(NO_ROWS, (_row, value) => value, false),
  ],
  binance: [
    ...each([...NO_PRICES, 2.65], (row, price) => without(row, 4, price)),
    ...each([...NO_NUMBERS, 12.5], (row, volume) => without(row, 5, volume)),
    ...each(NO_TIMES, (row, time) => without(row, 0, time), false),
    ...each([1, 2, 3, 4, 5], (row, length) => (row as unknown as unknown[]).slice(0, Number(length))),
    ...each(NO_ROWS, (_row, value) => value, false),
  ],
}

function without(row: Row, at: number, value: unknown): unknown {
  return Object.assign([...(row as unknown as unknown[])], { [at]: value })
}

// docs/faults.md, 103
for (const exchange of ['upbit', 'binance'] as const) {
  t.test(
    `one bad row makes a page of ${exchange} unreadable, and its minute unknown, or all where it states none`,
    async t => {
      t.equal(readCandles(pageOf(exchange), REQUESTS[exchange]).length, 20, 'a good page')
      for (const { change, isDated } of SPOILT[exchange]) {
        for (const at of [0, 1, 10, 18, 19]) {
          const page: unknown[] = pageOf(exchange)
          const spoilt = change(page[at] as Row)
          page[at] = spoilt
          const error = refusalOf(page, exchange)
          const minute = 2 * (exchange === 'upbit' ? 19 - at : at)
          const unknown = error && unknownOf(error)
          if (isDated) t.strictSame(unknown, [minute], `${JSON.stringify(spoilt)} at ${at}`)
          else t.equal(unknown?.length, 20, `${JSON.stringify(spoilt)} at ${at}`)
          t.equal(error?.candles.length, 19)
        }
      }
    },
  )

  t.test(`of two different rows of one minute of ${exchange} neither says anything`, async t => {
    const changes = [
      ROWS[exchange](NOON + 8, 3_000, 0),
      ROWS[exchange](NOON + 8, 3_000),
      ROWS[exchange](NOON + 8, undefined, 0),
      SPOILT[exchange][0]?.change(ROWS[exchange](NOON + 8)),
    ]
    for (const other of changes) {
      const where = exchange === 'upbit' ? 15 : 4
      for (const at of [where, where + 1]) {
        const page: unknown[] = pageOf(exchange)
        page.splice(at, 0, other)
        const error = refusalOf(page, exchange)
        t.strictSame(error && unknownOf(error), [8])
      }
    }
    const twice = pageOf(exchange)
    twice.splice(4, 0, ...twice.slice(4, 5))
    t.equal(readCandles(twice, REQUESTS[exchange]).length, 20, 'the same row again contradicts nothing')
  })

  t.test(`the cases that ${exchange} is known for are unreadable`, { skip: noCases }, async t => {
    const { rows, doubles } = JSON.parse(readFileSync(CASES, 'utf8'))
    for (const row of rows[exchange]) t.ok(refusalOf([row], exchange), JSON.stringify(row))
    if (doubles[exchange] !== undefined) t.ok(refusalOf(doubles[exchange], exchange), 'doubles')
  })
}

t.test('an answer that is no list is no candles at all', async t => {
  for (const json of [{}, null, 'text', 5]) {
    t.throws(() => readCandles(json, REQUESTS.upbit), { code: 'KIMCHI_ERR_REST', message: /no list/ })
  }
})
