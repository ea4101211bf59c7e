import { createSimulator } from '@kimchi/simulator'
import t from 'tap'
import { createSpans } from '../src/days/spans.ts'

const MINUTE = 60_000
const NOON = Date.parse('2026-11-20T12:00:00Z')

// docs/exchanges.md, unconfirmed
t.test('a halt that ends while no SNAPSHOT comes is excused until its market trades', async t => {
  const { prices } = createSimulator()
  const tradedAt = prices
    .trades('upbit', 'KRW-KNC', NOON, NOON + 1_440 * MINUTE)
    .find(({ at }) => !prices.traded('upbit', 'KRW-KNC', at - 20 * MINUTE, at))?.at as number
  const end = tradedAt - 10 * MINUTE
  /** Minutes after the halt's end that are excused. @param from and to, when no renewal was answered */
  const excused = (of: string, from: number, to: number, symbol = 'KNC') => {
    const spans = createSpans({ now: end }, prices)
    spans.add({ what: 'halt', of, from: end - 5 * MINUTE, to: end })
    spans.add({ what: 'no SNAPSHOTs', of: 'upbit', from: end + from * MINUTE, to: end + to * MINUTE })
    return [-1, 1, 3, 4, 9, 11].filter(minute => spans.mayLack(symbol, end + minute * MINUTE))
  }
  t.strictSame(excused('KRW-KNC', -2, 30), [-1, 1, 3, 4, 9], 'until the trade')
  t.strictSame(excused('KRW-KNC', 2, 30), [-1, 1, 3, 4, 9], 'before a renewal could tell')
  t.strictSame(excused('KRW-KNC', -2, 1), [-1, 1, 3], 'until renewals are answered')
  t.strictSame(excused('KRW-KNC', 3, 30), [-1, 1], 'a renewal has told')
  t.strictSame(excused('KRW-KNC', -9, -1), [-1, 1], 'renewals are answered again')
  t.strictSame(excused('KNCUSDT', -2, 30), [-1, 1], 'Binance has no renewals')
  t.strictSame(excused('KRW-KNC', -2, 30, 'ADA'), [], 'no other market')
})
