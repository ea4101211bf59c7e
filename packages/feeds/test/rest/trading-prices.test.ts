import t from 'tap'
import { parseTradingPrices } from '../../src/rest/trading-prices.ts'
import { createRest, serve } from '../harness.ts'

t.test('only symbols that trade are requested', async t => {
  const paths: (string | undefined)[] = []
  const url = await serve(t, ({ url }, response) => {
    paths.push(url)
    response.end('[{"symbol":"BTCUSDT","price":"5"}]')
  })
  t.strictSame((await createRest(url).fetchTradingPrices()).trading, new Map([['BTCUSDT', 5]]))
  t.strictSame(paths, ['/api/v3/ticker/price?symbolStatus=TRADING'])
})

t.test('a broken price is undefined, and a broken entry is left out', async t => {
  const entries = [
    { symbol: 'AUSDT', price: '0.00000000' },
    { symbol: 'BUSDT', price: 5 },
    { symbol: 'CUSDT', price: '-1' },
    { price: '1' },
    null,
    'x',
    { symbol: 'BTCUSDT', price: '5' },
  ]
  t.strictSame(
    [...parseTradingPrices(entries)],
    [
      ['AUSDT', undefined],
      ['BUSDT', undefined],
      ['CUSDT', undefined],
      ['BTCUSDT', 5],
    ],
  )
})

t.test('a broken list is a REST error: it must not halt the coins that it leaves out', async t => {
  for (const answer of [{ symbol: 'BTCUSDT' }, 5, [], [{ symbol: 'ETHUSDT', price: '5' }]]) {
    t.throws(() => parseTradingPrices(answer), { code: 'KIMCHI_ERR_REST', message: /ticker\/price/ })
  }
})
