import t from 'tap'
import { type Catalogue, matchCoins } from '../../src/catalogue/catalogue.ts'
import { parseBinanceListings, parseUpbitListings } from '../../src/catalogue/listings.ts'
import { ALIASES, DENIALS, LEFT_OUT } from '../../src/catalogue/pairs.ts'
import { noRecordings, recordedJson } from '../recorded.ts'

const skip = noRecordings

/** The outcomes for 291 Upbit and 484 Binance codes. */
const EXPECTED_2026 = { matched: 195, denied: 7, leftOut: 6, notOnBinance: 83, notTrading: 0 }

/** Binance's USDT markets of 2026-08-21, rebuilt from a public catalogue that holds those that traded. */
function binance2026() {
  const { r: records } = recordedJson('market-lists/asset-catalog-crypto.2026-08-21.json') as {
    r: { i: string }[]
  }
  const symbols = records.flatMap(({ i }) => {
    const base = /^BN:(.+)-USDT$/.exec(i)?.[1]
    return base === undefined
      ? []
      : [
          {
            symbol: `${base}USDT`,
            baseAsset: base,
            quoteAsset: 'USDT',
            status: 'TRADING',
            isSpotTradingAllowed: true,
          },
        ]
  })
  return parseBinanceListings({ symbols })
}

/** Upbit's KRW codes of 2026-10-05; the recording holds no names. */
function upbit2026() {
  const { markets } = recordedJson('market-lists/upbit-krw-markets.2026-10-05.json') as { markets: string[] }
  return parseUpbitListings(markets.map(market => ({ market })))
}

type LeftOut = Catalogue['leftOut'][number]
const KINDS = {
  denied: ({ symbol, reason }: LeftOut) => reason === DENIALS[symbol] || /is what Upbit calls/.test(reason),
  'no-coin': ({ symbol, reason }: LeftOut) => reason === LEFT_OUT[symbol],
  'not-on-binance': ({ reason }: LeftOut) => /Binance has no/.test(reason),
  'not-trading': ({ reason }: LeftOut) => /does not trade/.test(reason),
}

function countsOf({ coins, leftOut }: Catalogue) {
  const of = (kind: keyof typeof KINDS) => leftOut.filter(KINDS[kind]).length
  return {
    matched: coins.length,
    denied: of('denied'),
    leftOut: of('no-coin'),
    notOnBinance: of('not-on-binance'),
    notTrading: of('not-trading'),
  }
}

/** The traps of docs/exchanges.md#symbol-mapping in the lists of 2026: each ticker's partner on Binance. */
const TRAPS_2026: Readonly<Record<string, string | undefined>> = {
  // The same coin under two tickers.
  ...{ AI: 'AIGENSYN', BTT: 'BTTC', BEAM: 'BEAMX', MET2: 'MET' },
  // Different coins, or not checked.
  ...{ PROS: undefined, DATA: undefined, LIT: undefined, META: undefined, SONIC: undefined, EDGE: undefined },
  // Upbit's "2", never stripped.
  ...{ FCT2: undefined, GAME2: undefined, META2: undefined, UP2: undefined },
  // Renamed on both exchanges: today's ticker is found, the old one is not.
  ...{
    POL: 'POL',
    RENDER: 'RENDER',
    G: 'G',
    A: 'A',
    PUNDIX: 'PUNDIX',
    EGLD: 'EGLD',
    AAVE: 'AAVE',
    SKY: 'SKY',
  },
  ...{ MANTRA: 'MANTRA', STRAX: 'STRAX', BCH: 'BCH' },
  ...{ MATIC: undefined, FTM: undefined, RNDR: undefined, EOS: undefined, MKR: undefined, OM: undefined },
  // Look-alikes and short codes that are real.
  ...{ HOLO: 'HOLO', GRVT: undefined, O: undefined, IN: undefined, F: 'F', W: 'W', T: 'T', ME: 'ME' },
  // A ticker that ends in B need not be a tokenised share.
  ...{ ARB: 'ARB', CKB: 'CKB', SHIB: 'SHIB' },
  TOKAMAK: undefined,
}

/** Binance tickers of 2026 that must pair with no coin. */
const NOBODYS_2026 = [
  ...['AI', 'S', 'GRAM', 'METAB', 'AAPLB', 'TSLAB', 'HOT', 'STRK', 'RONIN', 'HEI', 'LUNA', 'LUNC'],
  ...['1000SATS', '1000CAT', '1000CHEEMS', '1MBABYDOGE'],
]

t.test('the lists of 2026: no coin is paired with another', { skip }, async t => {
  const upbit = upbit2026()
  const binance = binance2026()
  t.match({ upbit: upbit.length, binance: binance.length }, { upbit: 291, binance: 484 })
  const catalogue = matchCoins({ upbit, binance, wanted: 'all' })
  t.strictSame(countsOf(catalogue), EXPECTED_2026)
  const bySymbol = new Map(catalogue.coins.map(coin => [coin.symbol, coin]))
  t.equal(catalogue.coins[0]?.symbol, 'BTC')
  const onUpbit = new Set(upbit.map(({ asset }) => asset))
  const onBinance = new Set(binance.map(({ asset }) => asset))
  for (const [symbol, ticker] of Object.entries(ALIASES)) {
    if (!onUpbit.has(symbol)) continue
    t.equal(
      bySymbol.get(symbol)?.binance,
      onBinance.has(ticker) ? `${ticker}USDT` : undefined,
      `${symbol} is ${ticker}`,
    )
  }
  for (const symbol of [...Object.keys(DENIALS), ...Object.keys(LEFT_OUT)])
    t.notOk(bySymbol.has(symbol), symbol)
  for (const [symbol, ticker] of Object.entries(TRAPS_2026)) {
    t.equal(bySymbol.get(symbol)?.binance, ticker && `${ticker}USDT`, `${symbol} is ${ticker ?? 'left out'}`)
  }
  for (const ticker of NOBODYS_2026) {
    t.ok(onBinance.has(ticker), `${ticker} occurs`)
    t.notOk(
      catalogue.coins.some(coin => coin.binance === `${ticker}USDT`),
      `${ticker} pairs with no coin`,
    )
  }
  for (const { binance: market } of catalogue.coins)
    t.notMatch(market, /^(10+|1M)[A-Z]/, 'no price for many coins')
  const partners = catalogue.coins.map(({ binance: market }) => market)
  t.equal(new Set(partners).size, partners.length, 'no Binance market is used twice')
})

t.test('the raw answers of 2021 are read, and TON is not paired', { skip }, async t => {
  const upbit = parseUpbitListings(recordedJson('cryptofeed/upbit-market-all.2021-04-17.json'))
  const binance = parseBinanceListings(
    recordedJson('cryptofeed/binance-exchangeInfo.usdt-symbols.2021-10-12.json'),
  )
  t.equal(upbit.length, 117)
  t.equal(binance.length, 342)
  // 315 say TRADING; 40 of them are leveraged tokens (BTCUP, BTCDOWN, …) without spot trading.
  t.equal(binance.filter(({ trading }) => trading).length, 275)
  t.match(
    binance.filter(({ asset }) => asset === 'BTCUP' || asset === 'BTCDOWN'),
    [{ trading: false }, { trading: false }],
  )
  const catalogue = matchCoins({ upbit, binance, wanted: 'all' })
  t.match(catalogue.coins, [{ symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }])
  t.notOk(catalogue.coins.some(({ symbol }) => symbol === 'TON'))
  t.notOk(catalogue.leftOut.some(({ reason }) => reason === ''))
  const older = parseUpbitListings(recordedJson('market-lists/upbit-market-all.2021-03-06.json'))
  t.equal(older.length, 114)
})

t.test('market/all of 2026 gives the names', { skip }, async t => {
  const captures = recordedJson('maxt/upbit-captures.2026-07-30.json') as Record<string, unknown>
  const listings = parseUpbitListings(captures.market_all_is_details_4_of_800)
  t.match(listings, [
    { market: 'KRW-BTC', name: 'Bitcoin' },
    { market: 'KRW-AERGO', name: 'Aergo' },
    { market: 'KRW-ZIL' },
  ])
})
