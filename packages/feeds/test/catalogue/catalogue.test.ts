import t from 'tap'
import { matchCoins, type WantedCoins } from '../../src/catalogue/catalogue.ts'
import { ALIASES, DENIALS, LEFT_OUT } from '../../src/catalogue/pairs.ts'

function upbit(...assets: string[]) {
  return assets.map(asset => ({ market: `KRW-${asset}`, asset, name: `${asset} coin` }))
}

function binance(...assets: string[]) {
  return assets.map(asset => ({ market: `${asset}USDT`, asset, trading: true }))
}

function symbolsOf(wanted: WantedCoins, onUpbit: string[], onBinance: string[]): string[] {
  const options = { upbit: upbit(...onUpbit), binance: binance(...onBinance), wanted }
  return matchCoins(options).coins.map(({ symbol, binance: market }) => `${symbol}=${market}`)
}

t.test('the same ticker on both is a coin; everything else is left out with a reason', async t => {
  t.strictSame(
    matchCoins({ upbit: upbit('ETH', 'BTC', 'BORA'), binance: binance('BTC', 'ETH', 'BNB'), wanted: 'all' }),
    {
      coins: [
        { symbol: 'BTC', name: 'BTC coin', upbit: 'KRW-BTC', binance: 'BTCUSDT' },
        { symbol: 'ETH', name: 'ETH coin', upbit: 'KRW-ETH', binance: 'ETHUSDT' },
      ],
      leftOut: [{ symbol: 'BORA', reason: 'Binance has no BORAUSDT' }],
    },
  )
})

t.test('`all` is BTC first, then by symbol, whatever the order of the lists', async t => {
  const expected = ['BTC=BTCUSDT', '0G=0GUSDT', 'ADA=ADAUSDT', 'XRP=XRPUSDT']
  t.strictSame(symbolsOf('all', ['XRP', 'BTC', '0G', 'ADA'], ['ADA', 'XRP', '0G', 'BTC']), expected)
  t.strictSame(symbolsOf('all', ['ADA', '0G', 'XRP', 'BTC'], ['BTC', 'XRP', 'ADA', '0G']), expected)
})

t.test('every alias pairs with its partner and never with the same ticker', async t => {
  for (const [symbol, ticker] of Object.entries(ALIASES)) {
    t.strictSame(symbolsOf('all', [symbol], [symbol, ticker]), [`${symbol}=${ticker}USDT`])
    t.strictSame(symbolsOf('all', [symbol], [symbol]), [], `${symbol} has no pair without ${ticker}`)
    t.strictSame(symbolsOf('all', [ticker], [symbol, ticker]), [], `${ticker} belongs to ${symbol}`)
  }
})

t.test('every denied coin stays out of `all` and of a list, with the reason', async t => {
  for (const [symbol, reason] of Object.entries(DENIALS)) {
    const options = { upbit: upbit('BTC', symbol), binance: binance('BTC', symbol) }
    for (const wanted of ['all', ['BTC', symbol]] as const)
      t.match(matchCoins({ ...options, wanted }), {
        coins: { length: 1 },
        leftOut: [{ symbol, reason }],
      })
  }
  const listedNowhere = { upbit: upbit('BTC'), binance: binance('BTC'), wanted: ['TON'] }
  t.match(matchCoins(listedNowhere), { coins: [], leftOut: [{ symbol: 'TON', reason: /Tokamak/ }] })
})

t.test('stablecoins and metals stay out of `all` but can be asked for by name', async t => {
  for (const [symbol, reason] of Object.entries(LEFT_OUT)) {
    const options = { upbit: upbit('BTC', symbol), binance: binance('BTC', symbol) }
    t.match(matchCoins({ ...options, wanted: 'all' }).leftOut, [{ symbol, reason }])
    t.match(matchCoins({ ...options, wanted: [symbol] }), { coins: [{ symbol }], leftOut: { length: 0 } })
  }
})

t.test('a list keeps its order, and each of its symbols that is no coin has a reason', async t => {
  const listings = { upbit: upbit('BTC', 'ETH', 'BORA'), binance: binance('BTC', 'ETH') }
  const notOnUpbit = { reason: 'not on Upbit in KRW' }
  t.match(matchCoins({ ...listings, wanted: ['BITCOIN', 'ETH', 'BORA', 'BTC', 'QQQQ'] }), {
    coins: [{ symbol: 'ETH' }, { symbol: 'BTC' }],
    leftOut: [
      { symbol: 'BITCOIN', ...notOnUpbit },
      { symbol: 'BORA', reason: 'Binance has no BORAUSDT' },
      { symbol: 'QQQQ', ...notOnUpbit },
    ],
  })
})

t.test(
  'a coin that Binance halts stays when it is tracked or asked for by name, and is left out otherwise',
  async t => {
    const halted = [{ market: 'BTCUSDT', asset: 'BTC', trading: false }]
    const listings = { upbit: upbit('BTC'), binance: halted }
    t.match(matchCoins({ ...listings, wanted: 'all' }), { coins: [], leftOut: [{ reason: /not trade/ }] })
    t.match(matchCoins({ ...listings, wanted: 'all', tracked: ['BTC'] }), {
      coins: [{ symbol: 'BTC' }],
      leftOut: [],
    })
    t.match(matchCoins({ ...listings, wanted: ['BTC'] }), { coins: [{ symbol: 'BTC' }], leftOut: [] })
  },
)

t.test('a ticker that is no path segment is left out', async t => {
  const listings = { upbit: upbit('币安人生', '__proto__'), binance: binance('币安人生', '__proto__') }
  t.match(matchCoins({ ...listings, wanted: 'all' }), {
    coins: { length: 0 },
    leftOut: [{ reason: /A–Z/ }, { reason: /A–Z/ }],
  })
})
