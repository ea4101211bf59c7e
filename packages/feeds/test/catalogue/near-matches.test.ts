import t from 'tap'
import { nearMatches } from '../../src/catalogue/near-matches.ts'

const KNOWN = [
  { base: 'BTC', name: 'Bitcoin' },
  { base: 'BCH', name: 'Bitcoin Cash' },
  { base: 'ETH', name: 'Ethereum' },
  { base: 'BTT', name: 'BitTorrent' },
  { base: 'BAT', name: 'Basic Attention Token' },
]

t.test('names at most three, the nearest first', async t => {
  t.equal(nearMatches('BTX', KNOWN), ' (did you mean BTC, BTT?)')
  t.equal(nearMatches('ETHEREUM', KNOWN), ' (did you mean ETH?)')
  t.equal(nearMatches('BIT', KNOWN), ' (did you mean BAT, BTT?)')
})

t.test('says nothing when nothing is near', async t => {
  t.equal(nearMatches('ZZZZ', KNOWN), '')
  t.equal(nearMatches('ETH', []), '')
})
