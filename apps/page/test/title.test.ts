import t from 'tap'
import { en } from '../src/text/en.ts'
import { createFormats } from '../src/text/format.ts'
import { titleOf } from '../src/title.ts'
import { liveListOf } from './answers.ts'

const f = createFormats('en')
const rows = liveListOf('2026-11-21T13:05:00').data

t.test('the tab shows the coin’s premium, on the list the median’s', async t => {
  t.equal(titleOf(rows, 'BTC', [], en, f), '+1.23% · BTC · Kimchi premium (USDT)')
  t.equal(titleOf(rows, undefined, [], en, f), '+0.89% Kimchi premium (USDT)')
  t.equal(titleOf(rows, 'NOPE', [], en, f), 'NOPE · Kimchi premium (USDT)')
  t.equal(titleOf([], undefined, [], en, f), 'Kimchi premium (USDT)')
})

t.test('an alert comes first', async t => {
  const alert = { target: 'ETH', premium_pct: 5.02, bound: 'above', threshold: 5 } as const
  t.equal(titleOf(rows, 'BTC', [alert], en, f), '🔔 ETH +5.02% · Kimchi premium (USDT)')
})
