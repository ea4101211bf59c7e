import { type Coin, minuteStart } from '@kimchi/core'
import type { CandleRequest, MinuteCandle } from '@kimchi/feeds'
import { createMemoryLog } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t from 'tap'
import { CandleBlock } from '../../src/backfill/candle-block.ts'
import { CandleBlockCache } from '../../src/backfill/candle-block-cache.ts'
import { candleSampleOrGap, decideWindow } from '../../src/backfill/decide-minutes.ts'

const M = 29_000_000

type Candle = [offset: number, close: number, volume?: number]

/** Candles that open so many minutes after M: [offset, close, volume]; asked for ten minutes later. */
function block(...candles: Candle[]) {
  return askedAt(M + 10, ...candles)
}

function askedAt(minute: number, ...candles: Candle[]) {
  return new CandleBlock(
    candles.map(([offset, close, volume = 1]): MinuteCandle => [M + offset + 1, close, volume]),
    minute,
  )
}

const legs = {
  upbit: block([-1, 141_400_000]),
  binance: block([-1, 100_000]),
  rate: block([-1, 1_400]),
  upbitReference: block([-1, 141_400_000]),
  binanceReference: block([-1, 100_000]),
}

/** What becomes of M by these legs in place of the usual ones. */
const outcomeOf = (changes: Partial<typeof legs>) =>
  candleSampleOrGap({ symbol: 'BTC' }, M, { ...legs, ...changes })

t.test('carries an Upbit close over minutes without trades for sixty minutes, not longer', async t => {
  t.match(outcomeOf({ upbit: block([-60, 141_400_000]) }), { upbitKrw: 141_400_000 })
  t.equal(outcomeOf({ upbit: block([-61, 141_400_000]) }), 'no-upbit-price')
  t.equal(outcomeOf({ rate: block([-61, 1_400]) }), 'no-rate')
})

t.test('a minute of which Binance has no candle is one in which it was down', async t => {
  const missing = new Map([[M, 'confirmed' as const]])
  const binance = new CandleBlock([[M - 1, 100_000, 1]], M + 3, missing)
  t.equal(outcomeOf({ binance }), 'binance-down')
})

// docs/faults.md, 58
t.test(
  'an absent candle counts where a later one is there, or when it was fetched three minutes later',
  async t => {
    for (const [leg, close] of [
      ['upbit', 141_400_000],
      ['binance', 100_000],
      ['rate', 1_400],
      ['upbitReference', 141_400_000],
      ['binanceReference', 100_000],
    ] as const) {
      const before: Candle = [-2, close]
      const asked = (minute: number, ...candles: Candle[]) =>
        outcomeOf({ [leg]: askedAt(minute, before, ...candles) })
      t.equal(asked(M), 'open', leg)
      t.equal(asked(M + 2), 'open', leg)
      t.match(asked(M + 3), { symbol: 'BTC' }, leg)
      t.match(asked(M + 1, [0, close]), { symbol: 'BTC' }, leg)
    }
  },
)

const BTC: Coin = { symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }
const ETH: Coin = { symbol: 'ETH', name: 'Ethereum', upbit: 'KRW-ETH', binance: 'ETHUSDT' }

/** Decides minutes from M on, when NOW minutes have passed; markets trade each minute but for some spans. */
async function decide(
  coin: Coin,
  offsets: readonly number[],
  { now = 100, quiet = {} as Record<string, readonly [from: number, to: number]> } = {},
) {
  const fetched = new Set<string>()
  const fetchCandles = async ({ market, count, last = M + now + 1 }: CandleRequest) => {
    fetched.add(market)
    const [start, end] = quiet[market] ?? [0, 0]
    const opens = Array.from({ length: count }, (_, at) => last - count + at)
    const isQuiet = (open: number) => open >= M + start && open < M + end
    const isThere = (open: number) => open <= M + now && !(isQuiet(open) && market.startsWith('KRW-'))
    const close = market === 'KRW-USDT' ? 1_400 : market.startsWith('KRW-') ? 141_400 : 100
    return {
      candles: opens.filter(isThere).map((open): MinuteCandle => [open + 1, close, isQuiet(open) ? 0 : 1]),
    }
  }
  const clock = createManualClock(minuteStart(M + now) + 10_000)
  const minutes = offsets.map(offset => M + offset)
  const blocks = new CandleBlockCache({ fetchCandles }, { clock, log: createMemoryLog() })
  const { samples, settled } = await decideWindow({ coin, minutes }, blocks)
  return {
    samples: samples.map(({ minute }) => minute - M),
    settled: settled.map(({ minute, reason }) => [minute - M, reason]),
    fetched,
  }
}

t.test('a window is decided up to the newest complete minute, later ones stay open', async t => {
  t.match(await decide(ETH, [98, 99, 100, 101, 102]), { samples: [98, 99, 100], settled: [] })
  t.match(await decide(ETH, [100]), { samples: [100], settled: [] })
  const { fetched } = await decide(ETH, [101, 102])
  t.notOk(fetched.has('KRW-ETH'), 'only markets that always trade are asked for')
})

t.test('a minute whose candle may still come stays open between decided ones', async t => {
  const { samples, settled } = await decide(ETH, [98, 99, 100], { quiet: { 'KRW-ETH': [97, 101] } })
  t.strictSame([samples, settled], [[], []])
  const long = await decide(ETH, [20, 60, 69, 70, 90, 99], { quiet: { 'KRW-ETH': [10, 101] } })
  t.strictSame(long.samples, [20, 60, 69])
  t.strictSame(long.settled, [
    [70, 'no-upbit-price'],
    [90, 'no-upbit-price'],
  ])
})

t.test('an outage is settled only once its exchange has traded again', async t => {
  for (const [markets, reason] of [
    [['KRW-BTC', 'KRW-USDT', 'KRW-ETH'], 'upbit-down'],
    [['BTCUSDT', 'ETHUSDT'], 'binance-down'],
  ] as const) {
    const quiet = Object.fromEntries(markets.map(market => [market, [20, 40] as const]))
    const minutes = [20, 21, 30, 40, 41]
    const over = await decide(ETH, minutes, { quiet })
    t.strictSame(over.samples, [20, 41])
    t.strictSame(
      over.settled,
      [21, 30, 40].map(minute => [minute, reason]),
    )
  }
  const quiet = { 'KRW-BTC': [20, 101], 'KRW-USDT': [20, 101], 'KRW-ETH': [20, 101] } as const
  const lasting = await decide(ETH, [21, 30], { quiet })
  t.strictSame([lasting.samples, lasting.settled], [[], []], 'it may not be over')
  t.notOk(lasting.fetched.has('KRW-ETH'), 'only markets that always trade are asked for')
})

t.test('a rate older than an hour is settled only once KRW-USDT has traded again', async t => {
  const at = (to: number) => decide(BTC, [79, 80, 81, 90], { quiet: { 'KRW-USDT': [20, to] } })
  t.strictSame((await at(95)).settled, [
    [80, 'no-rate'],
    [81, 'no-rate'],
    [90, 'no-rate'],
  ])
  t.strictSame((await at(95)).samples, [79])
  const lasting = await at(101)
  t.strictSame([lasting.samples, lasting.settled], [[79], []])
})
