import t from 'tap'
import { ALIASES, DENIALS, LEFT_OUT } from '../../src/catalogue/pairs.ts'

t.test('each ticker is in one part of the table only, and each line has a reason', async t => {
  const tickers = [ALIASES, DENIALS, LEFT_OUT].flatMap(part => Object.keys(part))
  t.equal(new Set(tickers).size, tickers.length)
  for (const reason of [...Object.values(DENIALS), ...Object.values(LEFT_OUT)]) t.ok(reason.length > 3)
})
