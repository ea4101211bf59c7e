import t from 'tap'
import { addressOf, RANGES, routeOf } from '../src/route.ts'

t.test('an address names the list, or a coin with a range', async t => {
  for (const hash of ['', '#', '#/']) t.strictSame(routeOf(hash), { isUnknown: false })
  t.strictSame(routeOf('#/btc'), { symbol: 'BTC', range: 90 })
  t.strictSame(routeOf('#/BTC/365'), { symbol: 'BTC', range: 365 })
  t.strictSame(routeOf('#/BTC/all'), { symbol: 'BTC', range: 3650 })
})

t.test('an unknown range opens the default', async t => {
  for (const range of ['', '1', '0365', 'toString', '-7']) t.match(routeOf(`#/BTC/${range}`), { range: 90 })
})

t.test('anything else is no page', async t => {
  for (const hash of ['#/BTC/7/8', '#coins', '#/KRW-BTC', `#/${'A'.repeat(21)}`])
    t.strictSame(routeOf(hash), { isUnknown: true }, hash)
})

t.test('the address of each range leads back to it', async t => {
  for (const range of Object.values(RANGES))
    t.match(routeOf(addressOf('BTC', range)), { symbol: 'BTC', range })
})
