import t from 'tap'
import { type GapReason, LatestTicks, type Tick, takeSnapshot } from '../src/index.ts'
import { at, BTC, binanceTick, ETH, M, seed, upbitTick } from './ticks.ts'

const UPBIT_BTC = upbitTick('KRW-BTC', 99_000_000, at(-3))
const RATE = upbitTick('KRW-USDT', 1_400, at(-20))
const BINANCE_BTC = binanceTick('BTCUSDT', 70_000, at(-0.5))
/** Frames of other markets by which both streams have passed M. */
const PASSED = [upbitTick('KRW-SOL', 1, at(1.6)), binanceTick('SOLUSDT', 1, at(1))]
const WHOLE = [UPBIT_BTC, RATE, BINANCE_BTC, ...PASSED]

function record(...ticks: readonly Tick[]): LatestTicks {
  const latest = new LatestTicks()
  for (const tick of ticks) latest.record(tick)
  return latest
}

/** Each coin's outcome: the three prices of its sample, or the reason for its gap. */
function outcomes(latest: LatestTicks, minute = M, coins = [BTC]): (readonly number[] | GapReason)[] {
  const { samples, gaps } = takeSnapshot(latest.before(minute), coins)
  return coins.map(({ symbol }) => {
    const sample = samples.find(candidate => candidate.symbol === symbol)
    const gap = gaps.find(candidate => candidate.symbol === symbol)
    return sample ? [sample.upbitKrw, sample.binanceUsdt, sample.usdtKrw] : (gap?.reason ?? [])
  })
}

// docs/faults.md, 89
t.test('a snapshot has a sample for each coin, or a gap with the prices of its markets', async t => {
  const swapped = [upbitTick('KRW-ETH', 5_000, at(-9)), binanceTick('ETHUSDT', 3_500, at(-1))]
  t.strictSame(takeSnapshot(record(...WHOLE, ...swapped).before(M), [ETH, BTC]), {
    minute: M,
    samples: [
      {
        symbol: 'BTC',
        minute: M,
        upbitKrw: 99_000_000,
        binanceUsdt: 70_000,
        usdtKrw: 1_400,
        premiumE4: 10_204,
        source: 'live',
      },
    ],
    gaps: [
      {
        symbol: 'ETH',
        minute: M,
        reason: 'implausible',
        prices: { 'KRW-ETH': 5_000, ETHUSDT: 3_500, 'KRW-USDT': 1_400 },
      },
    ],
  })
  t.strictSame(takeSnapshot(record(...WHOLE).before(M), []), { minute: M, samples: [], gaps: [] })
})

t.test('a coin quiet on Binance is carried for as long, a seed counting as a trade', async t => {
  const eth = upbitTick('KRW-ETH', 5_000_000, at(-9))
  const seeded = (seconds: number) => record(...WHOLE, eth, seed('ETHUSDT', 3_500, at(seconds)))
  t.strictSame(outcomes(seeded(-3_600), M, [ETH]), [[5_000_000, 3_500, 1_400]])
  t.strictSame(outcomes(seeded(-3_601), M, [ETH]), ['no-binance-price'])
  const unchanged = binanceTick('ETHUSDT', 3_500, at(-2), { tradedAt: undefined })
  const latest = seeded(-3_601)
  latest.record(unchanged)
  t.strictSame(outcomes(latest, M, [ETH]), ['no-binance-price'], 'a frame without a trade extends nothing')
})

t.test('one exchange silent: a gap for every coin, never a premium of mixed age', async t => {
  const silentUpbit = [UPBIT_BTC, RATE].map(tick => ({
    ...tick,
    eventAt: tick.eventAt - 60_000,
    tradedAt: tick.eventAt - 60_000,
    sentAt: tick.eventAt - 60_000,
    receivedAt: tick.receivedAt - 60_000,
  }))
  t.strictSame(outcomes(record(...silentUpbit, BINANCE_BTC), M, [BTC, ETH]), ['upbit-down', 'upbit-down'])
  const unchanged = binanceTick('BTCUSDT', 70_000, at(-0.5), { tradedAt: undefined })
  t.strictSame(outcomes(record(UPBIT_BTC, RATE, unchanged)), ['binance-down'])
  t.strictSame(outcomes(record(UPBIT_BTC, RATE)), ['binance-down'])
  t.strictSame(outcomes(new LatestTicks()), ['upbit-down'])
})

t.test('KRW-USDT halted: no sample', async t => {
  t.strictSame(outcomes(record(UPBIT_BTC, { ...RATE, tradable: false }, BINANCE_BTC, ...PASSED)), ['no-rate'])
})

t.test('an Upbit snapshot sets prices but does not show that the exchange is up', async t => {
  const snapshot = { origin: 'snapshot' } as const
  const latest = record({ ...UPBIT_BTC, ...snapshot }, { ...RATE, ...snapshot }, BINANCE_BTC, ...PASSED)
  t.strictSame(outcomes(latest), ['upbit-down'])
  latest.record(upbitTick('KRW-ETH', 1, at(-1)))
  t.strictSame(outcomes(latest), [[99_000_000, 70_000, 1_400]])
})

t.test('a market halted on either exchange is a gap, and others are not affected', async t => {
  const eth = [upbitTick('KRW-ETH', 5_000_000, at(-9)), binanceTick('ETHUSDT', 3_500, at(-1))]
  const halted = record(...WHOLE, ...eth, upbitTick('KRW-ETH', 1, at(-68), { tradable: false }))
  t.strictSame(outcomes(halted, M, [BTC, ETH]), [[99_000_000, 70_000, 1_400], 'halting'])
  halted.record(upbitTick('KRW-ETH', 2, at(0)))
  t.strictSame(outcomes(halted, M, [ETH]), ['halting'], 'a halt that ends at M')
  const latest = record(...WHOLE, ...eth)
  latest.setTradable('binance', 'ETHUSDT', false, at(-1))
  t.strictSame(outcomes(latest, M, [ETH]), ['halting'], 'it traded in the minute')
  latest.record(upbitTick('KRW-BTC', 1, at(30)))
  latest.record(binanceTick('BTCUSDT', 1, at(30)))
  t.strictSame(outcomes(latest, M + 1, [ETH]), ['halted'])
  latest.setTradable('binance', 'ETHUSDT', true, at(60))
  t.notSame(outcomes(latest, M + 1, [ETH]), ['halted'], 'nothing says when it ended')
  t.match(latest.before(M + 2).binance.get('ETHUSDT'), { price: 3_500, tradable: true })
})

t.test('a halt on both exchanges is an ordinary gap only when both traded in the minute', async t => {
  const latest = record(...WHOLE, binanceTick('ETHUSDT', 3_500, at(-1)))
  latest.record(upbitTick('KRW-ETH', 5_000_000, at(-61), { tradable: false }))
  latest.setTradable('binance', 'ETHUSDT', false, at(-1))
  t.strictSame(outcomes(latest, M, [ETH]), ['halted'])
  latest.record(upbitTick('KRW-ETH', 5_000_000, at(-60), { tradable: false }))
  t.strictSame(outcomes(latest, M, [ETH]), ['halting'], 'the first instant of the minute belongs to it')
})

t.test('a halt outranks every other reason, because it takes the coin off the list', async t => {
  const latest = record(UPBIT_BTC, RATE, BINANCE_BTC)
  latest.setTradable('binance', 'ETHUSDT', false, at(-30))
  t.strictSame(outcomes(latest, M, [BTC, ETH]), ['behind', 'halted'])
  t.strictSame(outcomes(latest, M + 9, [BTC, ETH]), ['upbit-down', 'halting'])
})

t.test('a halt is not known of a minute in which nothing was heard of its exchange', async t => {
  for (const [exchange, market, tickOf, reference, other] of [
    ['upbit', 'KRW-ETH', upbitTick, 'KRW-BTC', binanceTick('BTCUSDT', 70_000, at(90))],
    ['binance', 'ETHUSDT', binanceTick, 'BTCUSDT', upbitTick('KRW-BTC', 99_000_000, at(90))],
  ] as const) {
    const latest = record(...WHOLE, other)
    latest.setTradable(exchange, market, false, at(-30))
    t.strictSame(outcomes(latest, M, [ETH]), ['halted'])
    t.strictSame(outcomes(latest, M + 2, [ETH]), ['halting'], `${exchange} is silent`)
    latest.record(tickOf(reference, 1, at(90)))
    t.strictSame(outcomes(latest, M + 2, [ETH]), ['halted'], `${exchange} is heard`)
  }
})

t.test('a wrong clock makes every coin a gap, whichever exchange shows it', async t => {
  for (const [index, lag] of [
    [0, 2_500],
    [2, 2_500],
    [2, -2_500],
  ] as const) {
    const ticks = WHOLE.map(tick => ({ ...tick, receivedAt: tick.eventAt, sentAt: tick.eventAt }))
    const odd = ticks[index]
    const latest = record(...ticks)
    for (let copy = 0; odd && copy < 5; copy++) {
      latest.record({ ...odd, eventAt: at(-30), sentAt: at(-30), receivedAt: at(-30) + lag })
    }
    t.strictSame(outcomes(latest, M, [BTC, ETH]), ['clock-skew', 'clock-skew'])
  }
})
