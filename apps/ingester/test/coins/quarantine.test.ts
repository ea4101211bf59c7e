import type { Coin, Sample } from '@kimchi/core'
import fc from 'fast-check'
import t from 'tap'
import { Quarantine, type QuarantineOptions } from '../../src/coins/quarantine.ts'
import { coinOf } from '../support/market.ts'

function coinsOf(...symbols: string[]): Coin[] {
  return symbols.map(coinOf)
}

/** Ten coins that agree with each other. */
const MARKET = coinsOf('BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT')
const [NEW] = coinsOf('NEW') as [Coin]

/** Premiums in percent as samples of one minute. */
function samplesOf(premiums: Record<string, number>): Sample[] {
  return Object.entries(premiums).map(([symbol, percent]) => ({
    symbol,
    minute: 29_000_000,
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

function open({ allow = [], deny = [], onTracked }: Partial<QuarantineOptions> = {}) {
  const quarantine = new Quarantine({ allow, deny, ...(onTracked && { onTracked }) })
  const follow = (coins: Coin[], published: Coin[] = []) => quarantine.follow({ coins, published })
  const check = (premiums: Record<string, number>) =>
    quarantine.judgeMinute(samplesOf(premiums)).map(({ symbol }) => symbol)
  return { quarantine, follow, check }
}

/** A market that was published, with one more pair that appears. */
function openWithNew(options = {}) {
  const opened = open(options)
  opened.follow(MARKET, MARKET)
  opened.follow([...MARKET, NEW], MARKET)
  return opened
}

t.test('one comparison releases a pair within 15 points of the median, and nothing is before it', async t => {
  for (const opened of [openWithNew(), open()]) {
    const { quarantine, follow, check } = opened
    follow([...MARKET, NEW])
    t.notOk(quarantine.tracked.includes(NEW))
    t.match(quarantine.status(), { quarantined: [{ reason: undefined }] })
    t.equal(check({ ...market(), NEW: 17.6 }).length, 10, 'NEW is 15.1 points off')
    t.strictSame(quarantine.status().quarantined, [
      {
        symbol: 'NEW',
        reason:
          "premium 17.60 % where the market's median is 2.50 %, by KRW-NEW at 1, NEWUSDT at 1 and KRW-USDT at 1",
      },
    ])
    t.equal(check({ ...market(), NEW: -12.4 }).length, 11, 'NEW is 14.9 points off')
    t.strictSame(quarantine.status().quarantined, [])
    t.equal(check({ ...market(), NEW: 130 }).length, 11, 'and never compared again')
  }
})

t.test('the median is that of all pairs, published or not, and half of them must have a premium', async t => {
  const { follow, check } = open()
  const many = coinsOf(...Array.from({ length: 11 }, (_, at) => `NEW${at}`))
  follow([...MARKET, ...many], MARKET)
  const far = Object.fromEntries(many.map(({ symbol }) => [symbol, 40]))
  t.equal(check({ ...market(), NEW0: 2 }).length, 11, 'eleven of 21')
  t.equal(check({ NEW1: 2, BTC: 2 }).length, 1, 'two of 21 are no market')
  t.equal(check({ ...market(), ...far }).length, 21, 'the majority is the market')
})

t.test('fewer than five coins are no market: the table alone decides', async t => {
  const { follow, check, quarantine } = open()
  follow(MARKET.slice(0, 4))
  t.strictSame(check({ BTC: 2, ETH: 80 }), ['BTC', 'ETH'])
  t.equal(quarantine.tracked.length, 4)
})

// docs/faults.md, 73
t.test('a pair once published is never judged again, though it leaves and comes back', async t => {
  const { quarantine, follow, check } = open()
  const all = [...MARKET, NEW]
  follow(all, all)
  t.equal(quarantine.tracked.length, 11, 'published by another ingester, or in an earlier run')
  follow(MARKET, all)
  follow(all, all)
  t.ok(check({ ...market(), NEW: 80 }).includes('NEW'))
})

t.test('a coin under another name must match the market, though its ticker was published', async t => {
  for (const [premium, isPublished] of [
    [3, true],
    [41, false],
  ] as const) {
    for (const isListed of [true, false]) {
      const { follow, check } = open()
      const all = [...MARKET, NEW]
      follow(all, all)
      if (!isListed) follow(MARKET, all)
      follow([...MARKET, { ...NEW, name: 'Renamed' }], all)
      t.equal(check({ ...market(), NEW: premium }).includes('NEW'), isPublished)
    }
  }
})

t.test('the same ticker on another market is another pair', async t => {
  const { follow, check } = openWithNew()
  t.ok(check({ ...market(), NEW: 2 }).includes('NEW'))
  follow([...MARKET, { ...NEW, binance: 'OTHERUSDT' }], [...MARKET, NEW])
  t.notOk(check({ ...market(), NEW: 40 }).includes('NEW'))
})

t.test('ALLOW publishes a pair at once, DENY never', async t => {
  const allowing = openWithNew({ allow: ['NEW'] })
  t.ok(allowing.check({ ...market(), NEW: 60 }).includes('NEW'))
  const denying = openWithNew({ deny: ['NEW', 'BTC'] })
  t.match(denying.quarantine.status(), { quarantined: [] })
  t.equal(denying.quarantine.subscribed.length, 9)
  t.notOk(denying.check(market()).includes('BTC'))
})

t.test('a minority of wrong pairs does not keep the others from being published', async () => {
  const wrong = fc.array(fc.double({ min: -99, max: 100_000, noNaN: true }), { minLength: 1, maxLength: 9 })
  fc.assert(
    fc.property(wrong, fc.double({ min: -30, max: 100, noNaN: true }), (premiums, median) => {
      const { follow, check } = open()
      const strangers = coinsOf(...premiums.map((_, at) => `WRONG${at}`))
      follow([...MARKET, ...strangers])
      const lies = Object.fromEntries(premiums.map((premium, at) => [`WRONG${at}`, premium]))
      const passed = check({ ...market(median, 0.5), ...lies })
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

t.test('what is published is told when it changes, and not in between', async t => {
  const told: string[][] = []
  const onTracked = (coins: readonly Coin[]) => void told.push(coins.map(({ name }) => name))
  const { follow, check } = open({ onTracked })
  follow([...MARKET, NEW], MARKET)
  check(market())
  const names = MARKET.map(({ name }) => name)
  t.strictSame(told, [names], 'NEW is quarantined')
  check({ ...market(), NEW: 2 })
  check({ ...market(), NEW: 2 })
  t.equal(told.length, 2)
  const [first, ...others] = MARKET as [Coin, ...Coin[]]
  follow([{ ...first, name: 'Other' }, ...others], MARKET)
  check(market())
  t.strictSame(
    told.slice(2),
    [names.slice(1), ['Other', ...names.slice(1)]],
    'the market confirms a renamed coin',
  )
})
