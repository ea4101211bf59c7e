import t from 'tap'
import { isOld, parseRate } from '../../src/bank/bank-rate.ts'

t.test('reads a rate as people write it, and refuses what can be none', async t => {
  t.strictSame(['1380', '1,380', '1380.55', '1,380.5', '500', '5000'].map(parseRate), [
    ...[1_380, 1_380, 1_380.55, 1_380.5, 500, 5_000],
  ])
  const wrong = ['', '-1380', '1380원', '1,38', '13,80', '1.380,5', '499.99', '5000.01', '1e3', '١٣٨٠']
  for (const text of wrong) t.equal(parseRate(text), undefined, text)
})

t.test('a rate is old after a day', async t => {
  t.notOk(isOld({ krw: 1_380, at: 0 }, 86_400_000))
  t.ok(isOld({ krw: 1_380, at: 0 }, 86_400_001))
})
