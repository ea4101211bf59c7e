import t from 'tap'
import { addressOf, RANGES, routeOf } from '../src/route.ts'

t.test('an address names a coin with a range; an unknown range is the default', async t => {
  t.strictSame(routeOf('#/btc'), { symbol: 'BTC', range: 90 })
  t.strictSame(routeOf('#/BTC/365'), { symbol: 'BTC', range: 365 })
  for (const range of ['', '1', '0365', 'toString', '-7']) t.match(routeOf(`#/BTC/${range}`), { range: 90 })
  for (const range of Object.values(RANGES))
    t.match(routeOf(addressOf('BTC', range)), { symbol: 'BTC', range }, 'and leads back')
})

t.test('any other is that of the list', async t => {
  for (const hash of ['', '#', '#/', '#/BTC/7/8', '#coins', '#/KRW-BTC', `#/${'A'.repeat(21)}`])
    t.equal(routeOf(hash).symbol, undefined, hash)
})
