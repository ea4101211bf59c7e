import type { Coin, Sample } from '@kimchi/core'
import fc from 'fast-check'
import t from 'tap'
import { Admission, type Newcomers } from '../../src/coins/quarantine.ts'

const MINUTE = 29_000_000

function coinsOf(...symbols: string[]): Coin[] {
  return symbols.map(symbol => ({ symbol, name: symbol, upbit: `KRW-${symbol}`, binance: `${symbol}USDT` }))
}

/** Ten coins that agree with each other. */
const MARKET = coinsOf('BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT')
const [NEW] = coinsOf('NEW') as [Coin]

/** Premiums in percent as samples of one minute. */
function samplesOf(premiums: Record<string, number>, minute = MINUTE): Sample[] {
  return Object.entries(premiums).map(([symbol, percent]) => ({
    symbol,
    minute,
    upbitKrw: 1,
    binanceUsdt: 1,
    usdtKrw: 1,
    premiumE4: Math.round(percent * 10_000),
    source: 'live',
  }))
}

function market(percent = 2, spread = 0.1): Record<string, number> {
  return Object.fromEntries(MARKET.map(({ symbol }, at) => [symbol, percent + at * spread]))
}

function open({ admit = [] as string[], deny = [] as string[] } = {}) {
  const admission = new Admission({ admit, deny })
  const follow = (coins: Coin[], newcomers: Newcomers = 'hold', tracked: Coin[] = []) =>
    admission.follow({ coins, tracked, newcomers })
  const judge = (minute: number, premiums: Record<string, number>) =>
    admission.judge(minute, samplesOf(premiums, minute)).map(({ symbol }) => symbol)
  return { admission, follow, judge }
}

/** A market that runs, with one more pair that appears. */
function openWithNew(options = {}) {
  const opened = open(options)
  opened.follow(MARKET, 'hold', MARKET)
  opened.follow([...MARKET, NEW])
  return opened
}

t.test(
  'a first start takes all that is within 20 points of the median, and nothing before it has looked',
  async t => {
    const { admission, follow, judge } = open()
    follow([...MARKET, NEW], 'test')
    t.strictSame(admission.tracked, [])
    t.equal(admission.untested.length, 11)
    t.equal(judge(MINUTE, { ...market(), NEW: 22.6 }).length, 10, 'NEW is 20.1 points off')
    t.strictSame(admission.held, [{ symbol: 'NEW', reason: "premium 20.10 points off the market's median" }])
    t.equal(admission.untested.length, 0)
    const other = open()
    other.follow([...MARKET, NEW], 'test')
    t.equal(other.judge(MINUTE, { ...market(), NEW: -17.4 }).length, 11, 'NEW is 19.9 points off')
  },
)

t.test('a first start waits for half of the coins before it compares', async t => {
  const { admission, follow, judge } = open()
  follow([...MARKET, NEW], 'test')
  t.strictSame(judge(MINUTE, { BTC: 2, ETH: 2, NEW: 30 }), [])
  t.equal(admission.untested.length, 11)
  t.strictSame(judge(MINUTE + 1, { BTC: 2, ETH: 2, XRP: 2, SOL: 2, DOGE: 2, NEW: 30 }), [
    'BTC',
    'ETH',
    'XRP',
    'SOL',
    'DOGE',
  ])
  t.equal(admission.untested.length, 5, 'each is decided when it is first seen')
})

t.test('fewer than five coins are no market: the table alone decides', async t => {
  const { follow, judge, admission } = open()
  follow(MARKET.slice(0, 4), 'hold')
  t.strictSame(judge(MINUTE, { BTC: 2, ETH: 80 }), ['BTC', 'ETH'])
  t.equal(admission.tracked.length, 4)
})

t.test('a pair that appears is published at the thirtieth minute in which it agrees', async t => {
  const { admission, judge } = openWithNew()
  for (let at = 0; at < 29; at++) {
    t.notOk(judge(MINUTE + at, { ...market(), NEW: 7.4 }).includes('NEW'))
  }
  t.match(admission.held, [
    { symbol: 'NEW', reason: "premium agrees with the market's median for 29 of 30 minutes" },
  ])
  t.ok(judge(MINUTE + 29, { ...market(), NEW: 7.4 }).includes('NEW'))
  t.equal(admission.tracked.at(-1), NEW)
  t.strictSame(admission.held, [])
  t.ok(judge(MINUTE + 30, { ...market(), NEW: 500 }).includes('NEW'), 'from then on the spike filter watches')
})

t.test(
  'a minute off sets back to nothing; a minute without a premium, or told twice, counts for nothing',
  async t => {
    const { admission, judge } = openWithNew()
    t.match(admission.held, [{ reason: 'new, no premium to judge by yet' }])
    for (let at = 0; at < 29; at++) judge(MINUTE + at, { ...market(), NEW: 2 })
    judge(MINUTE + 28, { ...market(), NEW: 2 })
    judge(MINUTE + 29, market())
    judge(MINUTE + 30, { BTC: 2, NEW: 2 })
    t.match(admission.held, [{ reason: /29 of 30/ }])
    judge(MINUTE + 31, { ...market(), NEW: 7.6 })
    t.match(admission.held, [{ reason: "premium 5.10 points off the market's median" }])
    for (let at = 32; at < 61; at++) judge(MINUTE + at, { ...market(), NEW: 2 })
    t.equal(admission.held.length, 1)
    t.ok(judge(MINUTE + 61, { ...market(), NEW: 2 }).includes('NEW'))
  },
)

t.test('a pair that left and came back is new, so is a ticker on another market', async t => {
  const { admission, follow, judge } = open()
  follow([...MARKET, NEW], 'hold', [...MARKET, NEW])
  t.equal(admission.held.length, 0)
  follow(MARKET)
  follow([...MARKET, NEW])
  t.match(admission.held, [{ symbol: 'NEW' }])
  follow([...MARKET, NEW], 'hold', [NEW])
  t.equal(admission.held.length, 0, 'admitted by another ingester')
  follow([...MARKET, { ...NEW, binance: 'OTHERUSDT' }], 'hold', [NEW])
  t.match(admission.held, [{ symbol: 'NEW' }])
  t.notOk(judge(MINUTE, { ...market(), NEW: 2 }).includes('NEW'))
})

t.test('another name is no other pair, and reaches the tracked coins', async t => {
  const { admission, follow } = open()
  follow(MARKET, 'hold', MARKET)
  const before = admission.tracked
  follow([...MARKET])
  t.equal(admission.tracked, before, 'the same array while nothing changes')
  const [btc, ...others] = MARKET as [Coin, ...Coin[]]
  follow([{ ...btc, name: '비트코인' }, ...others])
  t.match(admission.tracked[0], { symbol: 'BTC', name: '비트코인' })
  t.equal(admission.held.length, 0)
})

t.test('an operator admits at once or denies for good', async t => {
  const admitting = openWithNew({ admit: ['NEW'] })
  t.strictSame(admitting.admission.held, [])
  t.ok(admitting.judge(MINUTE, { ...market(), NEW: 60 }).includes('NEW'))
  const denying = openWithNew({ deny: ['NEW', 'BTC'] })
  t.match(denying.admission.held, [
    { symbol: 'BTC', reason: 'denied by DENY' },
    { symbol: 'NEW', reason: 'denied by DENY' },
  ])
  t.equal(denying.admission.subscribed.length, 9)
  t.notOk(denying.judge(MINUTE, { ...market(), NEW: 2 }).some(symbol => symbol === 'NEW' || symbol === 'BTC'))
})

t.test(
  'whatever the premiums do: never published before thirty minutes of agreement in a row, always after',
  async () => {
    const premium = fc.option(fc.double({ min: -30, max: 30, noNaN: true }), { nil: undefined })
    const level = fc.double({ min: -20, max: 60, noNaN: true })
    const minutes = fc.array(fc.record({ premium, level }), { minLength: 1, maxLength: 120 })
    fc.assert(
      fc.property(minutes, fc.boolean(), (course, isCalm) => {
        const { judge } = openWithNew()
        let agreed = 0
        let isAdmitted = false
        return course.every(({ premium: off, level: median }, at) => {
          // A calm course agrees nearly always, else no random one would ever get to thirty.
          const distance = off === undefined ? undefined : isCalm && at !== 5 ? off / 6.1 : off
          const premiums = market(median, 0)
          const passed = judge(
            MINUTE + at,
            distance === undefined ? premiums : { ...premiums, NEW: median + distance },
          )
          if (distance !== undefined) {
            const isClose =
              Math.abs(Math.round((median + distance) * 1e4) - Math.round(median * 1e4)) <= 50_000
            agreed = isClose ? agreed + 1 : 0
          }
          isAdmitted ||= agreed >= 30
          return (
            passed.includes('NEW') === (isAdmitted && distance !== undefined) &&
            passed.length >= MARKET.length
          )
        })
      }),
      { numRuns: 300 },
    )
  },
)

t.test('wrong pairs in a minority move nobody: the others pass whatever they say', async () => {
  const wrong = fc.array(fc.double({ min: -99, max: 100_000, noNaN: true }), { minLength: 1, maxLength: 9 })
  fc.assert(
    fc.property(wrong, fc.double({ min: -30, max: 100, noNaN: true }), (premiums, median) => {
      const { follow, judge } = open()
      const strangers = coinsOf(...premiums.map((_, at) => `WRONG${at}`))
      follow([...MARKET, ...strangers], 'test')
      const lies = Object.fromEntries(premiums.map((premium, at) => [`WRONG${at}`, premium]))
      const passed = judge(MINUTE, { ...market(median, 0.5), ...lies })
      const farOff = premiums.flatMap((premium, at) =>
        Math.abs(premium - median) > 26 ? [`WRONG${at}`] : [],
      )
      return (
        MARKET.every(({ symbol }) => passed.includes(symbol)) &&
        !farOff.some(symbol => passed.includes(symbol))
      )
    }),
  )
})

t.test(
  'two ingesters that see the same minutes admit the same coins, whenever each of them began',
  async () => {
    const start = fc.integer({ min: 0, max: 20 })
    fc.assert(
      fc.property(start, fc.integer({ min: 0, max: 30 }), (late, badMinute) => {
        const one = openWithNew()
        const other = openWithNew()
        for (let at = 0; at < 80; at++) {
          const premiums = { ...market(), NEW: at === badMinute ? 40 : 3 }
          one.judge(MINUTE + at, premiums)
          if (at >= late) other.judge(MINUTE + at, premiums)
        }
        return one.admission.tracked.length === 11 && other.admission.tracked.length === 11
      }),
    )
  },
)
