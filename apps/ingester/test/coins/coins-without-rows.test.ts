import type { Gap, GapReason } from '@kimchi/core'
import t from 'tap'
import { CoinsWithoutRows } from '../../src/coins/coins-without-rows.ts'
import { figuresOf } from '../../src/figures.ts'
import { notesOf } from '../../src/readiness.ts'
import { statusWith } from '../support/ingester-status.ts'

const M = 29_000_000

/** Says what is held back after some minutes of these gaps; each other coin has a sample. */
function open() {
  const withoutRows = new CoinsWithoutRows()
  let minute = M
  const pass = (
    gaps: Readonly<Record<string, GapReason>>,
    samples: readonly string[] = [],
    quarantined: Parameters<CoinsWithoutRows['noteMinute']>[1] = [],
  ) => {
    minute += 1
    const all = Object.entries(gaps).map(([symbol, reason]): Gap => {
      const prices = { [`KRW-${symbol}`]: 9, [`${symbol}USDT`]: undefined, 'KRW-USDT': 14_000 }
      return { symbol, minute, reason, prices }
    })
    const stored = samples.map(symbol => ({ symbol, minute }))
    withoutRows.noteMinute({ minute, gaps: all, samples: stored as never }, quarantined)
    return withoutRows.status().map(({ symbol, reason }) => `${symbol} ${reason}`)
  }
  const status = () => ({ ...statusWith({ base: { index: 0 } }), heldBack: withoutRows.status() })
  return { withoutRows, pass, status, notes: () => notesOf(status()), minute: () => minute }
}

// docs/faults.md, 131
t.test(
  'a coin without a row of two minutes is named, with its reason and prices, until it has one',
  async t => {
    for (const [reason, words] of [
      ['halted', /halted/],
      ['halting', /halted/],
      ['no-upbit-price', /Upbit price is unknown/],
      ['no-binance-price', /Binance price is unknown/],
      ['implausible', /differ too much .*ALLOW=ETH$/],
      ['impossible', /of no pair/],
    ] as const) {
      const { pass, notes } = open()
      pass({}, ['BTC', 'ETH'])
      t.strictSame(pass({ ETH: reason }, ['BTC']), [], 'one minute')
      t.strictSame(pass({ ETH: reason }, ['BTC']), [`ETH ${reason}`])
      t.match(notes(), [words])
      t.match(
        notes().join(),
        /^ETH is not published: .*KRW-ETH at 9, ETHUSDT at no known price, KRW-USDT at 14000/,
      )
      t.strictSame(pass({}, ['BTC', 'ETH']), [])
      t.strictSame(notes(), [])
    }
  },
)

t.test('a coin that candles fill is not held back', async t => {
  const { withoutRows, pass, minute } = open()
  pass({}, ['ETH'])
  for (let at = 0; at < 5; at++) {
    t.strictSame(pass({ ETH: 'no-upbit-price' }), [])
    withoutRows.noteStored([{ symbol: 'ETH', minute: minute() }])
  }
})

t.test('quarantined pairs are named, those that nobody could compare too', async t => {
  const { pass, notes } = open()
  const quarantine = [
    { symbol: 'NEW', reason: 'premium 60.00 %' },
    { symbol: 'OTHER', reason: undefined },
  ]
  t.strictSame(pass({}, ['BTC'], quarantine), [])
  t.strictSame(pass({}, ['BTC'], quarantine), ['NEW quarantined', 'OTHER quarantined'])
  t.match(notes(), [/^NEW is not published: premium 60.00 %.*ALLOW=NEW$/, /^OTHER .*fewer than half/])
})

t.test('what holds back all coins names none', async t => {
  for (const reason of ['behind', 'clock-skew', 'no-rate', 'upbit-down', 'binance-down'] as const) {
    const { pass } = open()
    const unknown = [{ symbol: 'ETH', reason: undefined }]
    for (let at = 0; at < 5; at++) t.strictSame(pass({ BTC: reason, ETH: reason }, [], unknown), [], reason)
  }
})

// docs/faults.md, 101
t.test('where most coins are implausible at once the rate is named, and no ALLOW', async t => {
  const gaps = { A: 'implausible', B: 'implausible', C: 'implausible', D: 'implausible' } as const
  const { pass, notes } = open()
  pass(gaps, ['E', 'F', 'G'])
  t.strictSame(pass(gaps, ['E', 'F', 'G']), ['KRW-USDT rate'])
  t.strictSame(notes(), ['KRW-USDT at 14000 makes the premiums of most coins implausible'])
  t.equal(pass(gaps, ['E', 'F', 'G', 'H']).length, 4, 'as many have a sample')
  t.equal(notes().filter(note => note.includes('ALLOW=')).length, 4)
})

t.test(
  'ten are named, those first about which an operator can do something, and the others counted',
  async t => {
    const { pass, notes, status } = open()
    const gaps = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`C${at}`, 'halted' as GapReason]))
    const all = { ...gaps, ODD: 'implausible' as const }
    pass(all, ['BTC'])
    t.equal(pass(all, ['BTC']).length, 13)
    t.equal(notes().length, 11)
    t.match(notes()[0], /^ODD /)
    t.match(notes().at(-1), /^3 more coins are not published/)
    const { held_back, held_back_coins } = figuresOf(status())
    t.strictSame(held_back_coins?.values, { halted: 12, implausible: 1 })
    t.match(held_back?.values, {
      '': Array(10)
        .fill(/^\w+ \(/)
        .concat('others (more: 3 coins)'),
    })
  },
)
