import type { Coin, Sample } from '@kimchi/core'
import fc from 'fast-check'
import t from 'tap'
import { Quarantine, type ReleaseRule } from '../../src/coins/quarantine.ts'
import { coinOf } from '../support/market.ts'

const MINUTE = 29_000_000

function coinsOf(...symbols: string[]): Coin[] {
  return symbols.map(coinOf)
}

/** Ten coins that agree with each other. */
const MARKET = coinsOf('BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT')
const [NEW] = coinsOf('NEW') as [Coin]

/** Premiums in percent as samples of one minute. */
function samplesOf(premiums: Record<string, number>, minute: number): Sample[] {
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

function open({ allow = [] as string[], deny = [] as string[] } = {}) {
  const quarantine = new Quarantine({ allow, deny })
  const follow = (coins: Coin[], releaseNew: ReleaseRule = 'after-30-minutes', published: Coin[] = []) =>
    quarantine.follow({ coins, published, releaseNew })
  const check = (minute: number, premiums: Record<string, number>) =>
    quarantine.judgeMinute(samplesOf(premiums, minute)).map(({ symbol }) => symbol)
  return { quarantine, follow, check }
}

/** A market that runs, with one more pair that appears. */
function openWithNew(options = {}) {
  const opened = open(options)
  opened.follow(MARKET, 'after-30-minutes', MARKET)
  opened.follow([...MARKET, NEW])
  return opened
}

t.test(
  'a first start publishes all that is within 15 points of the median, and nothing before the comparison',
  async t => {
    const { quarantine, follow, check } = open()
    follow([...MARKET, NEW], 'if-first-matches')
    t.strictSame(quarantine.tracked, [])
    t.equal(quarantine.untested.length, 11)
    t.equal(check(MINUTE, { ...market(), NEW: 17.6 }).length, 10, 'NEW is 15.1 points off')
    t.strictSame(quarantine.status().quarantined, [
      { symbol: 'NEW', reason: "premium 15.10 points off the market's median" },
    ])
    t.equal(quarantine.untested.length, 0)
    const other = open()
    other.follow([...MARKET, NEW], 'if-first-matches')
    t.equal(other.check(MINUTE, { ...market(), NEW: -12.4 }).length, 11, 'NEW is 14.9 points off')
  },
)

t.test('a first start waits for half of the coins before it compares', async t => {
  const { quarantine, follow, check } = open()
  follow([...MARKET, NEW], 'if-first-matches')
  t.strictSame(check(MINUTE, { BTC: 2, ETH: 2, NEW: 30 }), [])
  t.equal(quarantine.untested.length, 11)
  t.strictSame(check(MINUTE + 1, { BTC: 2, ETH: 2, XRP: 2, SOL: 2, DOGE: 2, NEW: 30 }), [
    'BTC',
    'ETH',
    'XRP',
    'SOL',
    'DOGE',
  ])
  t.equal(quarantine.untested.length, 5, 'each is decided when it is first seen')
})

t.test('fewer than five coins are no market: the table alone decides', async t => {
  const { follow, check, quarantine } = open()
  follow(MARKET.slice(0, 4), 'after-30-minutes')
  t.strictSame(check(MINUTE, { BTC: 2, ETH: 80 }), ['BTC', 'ETH'])
  t.equal(quarantine.tracked.length, 4)
})

t.test(
  'a minute off the median starts the count over; a minute without a premium, or repeated, does not count',
  async t => {
    const { quarantine, check } = openWithNew()
    t.match(quarantine.status().quarantined, [{ reason: 'new, no premium to judge by yet' }])
    for (let at = 0; at < 29; at++) check(MINUTE + at, { ...market(), NEW: 2 })
    check(MINUTE + 28, { ...market(), NEW: 2 })
    check(MINUTE + 29, market())
    check(MINUTE + 30, { BTC: 2, NEW: 2 })
    t.match(quarantine.status().quarantined, [{ reason: /29 of 30/ }])
    check(MINUTE + 31, { ...market(), NEW: 17.6 })
    t.match(quarantine.status().quarantined, [{ reason: "premium 15.10 points off the market's median" }])
    for (let at = 32; at < 61; at++) check(MINUTE + at, { ...market(), NEW: 2 })
    t.equal(quarantine.status().quarantined.length, 1)
    t.ok(check(MINUTE + 61, { ...market(), NEW: 2 }).includes('NEW'))
  },
)

// docs/faults.md, 73
t.test('a pair once published is never judged again, though it leaves and comes back', async t => {
  const { quarantine, follow, check } = open()
  follow([...MARKET, NEW], 'after-30-minutes', [...MARKET, NEW])
  t.equal(quarantine.status().quarantined.length, 0, 'published by another ingester, or in an earlier run')
  follow(MARKET, 'after-30-minutes', [...MARKET, NEW])
  follow([...MARKET, NEW], 'after-30-minutes', [...MARKET, NEW])
  t.ok(check(MINUTE, { ...market(), NEW: 80 }).includes('NEW'))
})

t.test('a ticker that comes back as another coin is new', async t => {
  const { quarantine, follow, check } = open()
  const all = [...MARKET, NEW]
  const other = { ...NEW, name: 'Another Coin' }
  follow(all, 'after-30-minutes', all)
  follow(MARKET, 'after-30-minutes', all)
  follow([...MARKET, other], 'after-30-minutes', all)
  t.notOk(check(MINUTE, { ...market(), NEW: 2 }).includes('NEW'))
  t.match(quarantine.status().quarantined, [{ reason: /for 1 of 30 minutes/ }])
})

t.test('a coin that is renamed while it is listed must match the market once', async t => {
  for (const [premium, isPublished] of [
    [3, true],
    [41, false],
  ] as const) {
    const { follow, check } = open()
    const all = [...MARKET, NEW]
    follow(all, 'after-30-minutes', all)
    follow([...MARKET, { ...NEW, name: 'Renamed' }], 'after-30-minutes', all)
    t.equal(check(MINUTE, { ...market(), NEW: premium }).includes('NEW'), isPublished)
  }
})

t.test('a pair that leaves while it is held starts over, another market is another pair', async t => {
  const { quarantine, follow, check } = openWithNew()
  for (let at = 0; at < 29; at++) check(MINUTE + at, { ...market(), NEW: 2 })
  follow(MARKET)
  follow([...MARKET, NEW])
  t.match(quarantine.status().quarantined, [{ symbol: 'NEW', reason: 'new, no premium to judge by yet' }])
  follow([...MARKET, { ...NEW, binance: 'OTHERUSDT' }], 'after-30-minutes', [NEW])
  t.match(quarantine.status().quarantined, [{ symbol: 'NEW' }])
  t.notOk(check(MINUTE + 30, { ...market(), NEW: 2 }).includes('NEW'))
})

t.test('ALLOW publishes a pair at once, DENY never', async t => {
  const allowing = openWithNew({ allow: ['NEW'] })
  t.strictSame(allowing.quarantine.status().quarantined, [])
  t.ok(allowing.check(MINUTE, { ...market(), NEW: 60 }).includes('NEW'))
  const denying = openWithNew({ deny: ['NEW', 'BTC'] })
  t.match(denying.quarantine.status(), { quarantined: [], denied: ['BTC', 'NEW'] })
  t.equal(denying.quarantine.subscribed.length, 9)
  t.notOk(denying.check(MINUTE, { ...market(), NEW: 2 }).some(symbol => symbol === 'NEW' || symbol === 'BTC'))
})

t.test(
  'whatever the premiums do: never published before thirty minutes of agreement in a row, always after',
  async () => {
    const premium = fc.option(fc.double({ min: -30, max: 30, noNaN: true }), { nil: undefined })
    const level = fc.double({ min: -20, max: 60, noNaN: true })
    const minutes = fc.array(fc.record({ premium, level }), { minLength: 1, maxLength: 120 })
    fc.assert(
      fc.property(minutes, fc.boolean(), (course, isCalm) => {
        const { check } = openWithNew()
        let agreed = 0
        let isReleased = false
        return course.every(({ premium: off, level: median }, at) => {
          // A calm course agrees nearly always, else no random one would ever get to thirty.
          const distance = off === undefined ? undefined : isCalm && at !== 5 ? off / 2.1 : off
          const premiums = market(median, 0)
          const passed = check(
            MINUTE + at,
            distance === undefined ? premiums : { ...premiums, NEW: median + distance },
          )
          if (distance !== undefined) {
            const isClose =
              Math.abs(Math.round((median + distance) * 1e4) - Math.round(median * 1e4)) <= 150_000
            agreed = isClose ? agreed + 1 : 0
          }
          isReleased ||= agreed >= 30
          return (
            passed.includes('NEW') === (isReleased && distance !== undefined) &&
            passed.length >= MARKET.length
          )
        })
      }),
      { numRuns: 300 },
    )
  },
)

t.test('a minority of wrong pairs does not keep the others from being published', async () => {
  const wrong = fc.array(fc.double({ min: -99, max: 100_000, noNaN: true }), { minLength: 1, maxLength: 9 })
  fc.assert(
    fc.property(wrong, fc.double({ min: -30, max: 100, noNaN: true }), (premiums, median) => {
      const { follow, check } = open()
      const strangers = coinsOf(...premiums.map((_, at) => `WRONG${at}`))
      follow([...MARKET, ...strangers], 'if-first-matches')
      const lies = Object.fromEntries(premiums.map((premium, at) => [`WRONG${at}`, premium]))
      const passed = check(MINUTE, { ...market(median, 0.5), ...lies })
      const farOff = premiums.flatMap((premium, at) =>
        Math.abs(premium - median) > 16 ? [`WRONG${at}`] : [],
      )
      return (
        MARKET.every(({ symbol }) => passed.includes(symbol)) &&
        !farOff.some(symbol => passed.includes(symbol))
      )
    }),
  )
})

t.test(
  'two ingesters that see the same minutes release the same coins, whenever each of them began',
  async () => {
    const start = fc.integer({ min: 0, max: 20 })
    fc.assert(
      fc.property(start, fc.integer({ min: 0, max: 30 }), (late, badMinute) => {
        const one = openWithNew()
        const other = openWithNew()
        for (let at = 0; at < 80; at++) {
          const premiums = { ...market(), NEW: at === badMinute ? 40 : 3 }
          one.check(MINUTE + at, premiums)
          if (at >= late) other.check(MINUTE + at, premiums)
        }
        return one.quarantine.tracked.length === 11 && other.quarantine.tracked.length === 11
      }),
    )
  },
)

t.test('the status names the setting that publishes every quarantined pair', async t => {
  t.equal(open().quarantine.status().allowSetting, undefined)
  const { quarantine, follow } = open({ allow: ['OLD'] })
  follow(MARKET, 'after-30-minutes', MARKET)
  follow([...MARKET, NEW, ...coinsOf('OLD', 'NEXT')])
  t.equal(quarantine.status().allowSetting, 'ALLOW=OLD,NEW,NEXT', 'with those that are allowed already')
})

// docs/faults.md, 73
t.test('one started fresh and one restarted publish the same list, pairs 11 points off included', async t => {
  const SECOND = coinsOf('OFF11', 'OFF14', 'OFF16')
  const premiums = { ...market(2, 0), OFF11: 13, OFF14: -12, OFF16: 18 }
  const fresh = open()
  fresh.follow([...MARKET, ...SECOND], 'if-first-matches')
  const restarted = open()
  restarted.follow([...MARKET, ...SECOND], 'after-30-minutes', MARKET)
  for (let at = 0; at < 30; at++) {
    fresh.check(MINUTE + at, premiums)
    restarted.check(MINUTE + at, premiums)
  }
  const symbolsOf = ({ quarantine }: typeof fresh) => quarantine.tracked.map(({ symbol }) => symbol)
  t.strictSame(symbolsOf(fresh), [...MARKET.map(({ symbol }) => symbol), 'OFF11', 'OFF14'])
  t.strictSame(symbolsOf(restarted), symbolsOf(fresh))
  t.equal(fresh.quarantine.status().allowSetting, 'ALLOW=OFF16')
  t.strictSame(restarted.quarantine.status(), fresh.quarantine.status())
})
