import t from 'tap'
import { bankPremium, isOld, parseRate } from '../../src/bank/entered-rate.ts'
import { liveListOf } from '../answers.ts'

t.test('reads a rate as people write it, and refuses what can be none', async t => {
  t.strictSame(['1380', '1,380', '1380.55', '1,380.5', '500', '5000'].map(parseRate), [
    ...[1_380, 1_380, 1_380.55, 1_380.5, 500, 5_000],
  ])
  const wrong = [
    '',
    '0',
    '-1380',
    '1380원',
    'abc',
    '1,38',
    '13,80',
    '1.380,5',
    '499.99',
    '5000.01',
    '1e3',
    '١٣٨٠',
  ]
  for (const text of wrong) t.equal(parseRate(text), undefined, text)
})

t.test('dollars at the bank’s rate take the place of USDT', async t => {
  const [btc] = liveListOf('2026-11-21T13:05:00').data
  if (!btc) throw new Error('no BTC')
  t.equal(bankPremium(btc, { krw: 1_400, at: 0 }).toFixed(4), '1.2341', 'the same at the same rate')
  t.equal(bankPremium(btc, { krw: 1_420, at: 0 }).toFixed(4), '-0.1917', 'of the other sign')
})

t.test('a rate is old after a day', async t => {
  t.notOk(isOld({ krw: 1_380, at: 0 }, 86_400_000))
  t.ok(isOld({ krw: 1_380, at: 0 }, 86_400_001))
})
