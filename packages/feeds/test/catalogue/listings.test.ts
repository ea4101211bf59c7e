import t from 'tap'
import { parseBinanceListings, parseUpbitListings } from '../../src/catalogue/listings.ts'

// Made after docs/exchanges.md#upbit-rest (market/all) and #binance-rest (exchangeInfo).
const UPBIT = [
  { market: 'KRW-BTC', korean_name: '비트코인', english_name: 'Bitcoin' },
  { market: 'KRW-AERGO', korean_name: '아르고', english_name: 'Aergo' },
  { market: 'KRW-NEW', korean_name: '새것' },
  { market: 'BTC-ETH', korean_name: '이더리움', english_name: 'Ethereum' },
]
const symbolOf = (baseAsset: string, quoteAsset: string, others: object = {}) => {
  return { symbol: `${baseAsset}${quoteAsset}`, status: 'TRADING', baseAsset, quoteAsset, ...others }
}
const BINANCE = {
  timezone: 'UTC',
  symbols: [
    symbolOf('BTC', 'USDT', { isSpotTradingAllowed: true }),
    symbolOf('ETH', 'USDT', { isSpotTradingAllowed: true, status: 'BREAK' }),
    symbolOf('XRP', 'USDT', { isSpotTradingAllowed: false }),
    symbolOf('币安人生', 'USDT'),
    symbolOf('ETH', 'BTC'),
  ],
}

t.test('KRW markets are read with their names', async t => {
  t.strictSame(parseUpbitListings(UPBIT), [
    { market: 'KRW-BTC', asset: 'BTC', name: 'Bitcoin' },
    { market: 'KRW-AERGO', asset: 'AERGO', name: 'Aergo' },
    { market: 'KRW-NEW', asset: 'NEW', name: 'NEW' },
  ])
})

t.test('USDT markets are read with whether they trade', async t => {
  t.strictSame(parseBinanceListings(BINANCE), [
    { market: 'BTCUSDT', asset: 'BTC', trading: true },
    { market: 'ETHUSDT', asset: 'ETH', trading: false },
    { market: 'XRPUSDT', asset: 'XRP', trading: false },
    { market: '币安人生USDT', asset: '币安人生', trading: true },
  ])
})

t.test('a bad entry is left out, not fatal', async t => {
  const bad = [
    null,
    5,
    'KRW-BTC',
    [],
    {},
    { market: 5 },
    { market: 'BTC' },
    { market: 'KRW-' },
    { market: 'KRW-A-B' },
  ]
  t.equal(parseUpbitListings([...bad, ...UPBIT]).length, 3)
  const symbols = [
    null,
    {},
    { symbol: 'AUSDT' },
    { ...BINANCE.symbols[0], symbol: 'OTHER' },
    ...BINANCE.symbols,
  ]
  t.equal(parseBinanceListings({ symbols }).length, 4)
})

t.test('an answer of the wrong shape is refused, and shown', async t => {
  const code = 'KIMCHI_ERR_CATALOGUE'
  for (const answer of [
    undefined,
    null,
    5,
    'text',
    {},
    { symbols: {} },
    [],
    [1, 2],
    { error: { name: 404 } },
  ]) {
    t.throws(() => parseUpbitListings(answer), { code, message: /upbit market\/all/ })
    t.throws(() => parseBinanceListings(answer), { code, message: /binance exchangeInfo/ })
  }
})

t.test('names of any script are made fit for a line of text', async t => {
  const nameOf = (englishName: unknown) =>
    parseUpbitListings([{ market: 'KRW-X', english_name: englishName }])[0]?.name
  t.equal(nameOf('  Æther\u0000\n Coin '), 'Æther Coin')
  t.equal(nameOf('币安人生'), '币安人生')
  t.equal(nameOf('Cafe\u0301'), 'Café')
  t.equal(nameOf(''), 'X')
  t.equal(nameOf(5), 'X')
  t.equal(nameOf('n'.repeat(500))?.length, 80)
  t.equal(nameOf('𝔹'.repeat(500)), '𝔹'.repeat(80), 'no character is cut in two')
})
