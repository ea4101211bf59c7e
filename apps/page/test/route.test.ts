import t from 'tap'
import { RANGES, routeOf } from '../src/route.ts'

t.test('an address names a coin with a range; an unknown range is the default', async t => {
  t.strictSame(routeOf('#/btc'), { symbol: 'BTC', range: 90 })
  for (const range of RANGES) t.strictSame(routeOf(`#/BTC/${range}`), { symbol: 'BTC', range })
  for (const range of ['', '1', '0365', 'toString', '-7']) t.match(routeOf(`#/BTC/${range}`), { range: 90 })
})

t.test('any other is that of the list', async t => {
  for (const hash of ['', '#', '#/', '#/BTC/7/8', '#coins', '#/KRW-BTC', `#/${'A'.repeat(21)}`])
    t.equal(routeOf(hash).symbol, undefined, hash)
})
