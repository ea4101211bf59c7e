import { percentOf, premiumE4, RATE_MARKET } from '@kimchi/core'
import { type Check, fail, ok, someOf, unknown, type Verdict } from '../finding.ts'
import { lastPrices, type World } from '../world.ts'

/** Points off the median beyond which a person must judge a pair. */
const FAR_POINTS = 5

/** The lists of both exchanges, and whether their pairs are what they seem. */
export const listChecks: readonly Check[] = [
  {
    check: 'lists',
    expected: 'both load and hold markets',
    judge: ({ listings: { upbit, binance }, listingProblems }) => {
      const seen = `${upbit?.markets.length ?? 0} in KRW on Upbit, ${binance?.markets.length ?? 0} in USDT on Binance`
      if (upbit && binance) return ok(seen)
      return fail([seen, ...listingProblems].join('; '), 'See the bases above.')
    },
  },
  {
    check: 'matched coins',
    expected: 'coins of COINS on both lists',
    judge: ({ listings, coins }) => {
      if (!listings.upbit || !listings.binance) return unknown('a list is missing', 'See the lists.')
      return coins.length > 0 ? ok(`${coins.length}`) : fail('none', 'Check COINS and DENY.')
    },
  },
  { check: 'names', expected: 'Upbit has an English name for every matched coin', judge: judgeNames },
  {
    check: 'catalogue',
    expected: `every matched pair's premium within ${FAR_POINTS} points of the median`,
    judge: judgeCatalogue,
  },
]

function judgeNames({ coins }: World): Verdict {
  if (coins.length === 0) return unknown('no coins', 'See the lists.')
  const nameless = coins.filter(({ name, symbol }) => name === symbol).map(({ symbol }) => symbol)
  // XRP is called XRP; all of them without a name means that the field is gone.
  if (nameless.length * 2 > coins.length) {
    return fail(`${nameless.length} without: ${someOf(nameless)}`, 'The list shows tickers instead.')
  }
  return ok(
    `${coins.length - nameless.length} of ${coins.length}; called by their ticker: ${someOf(nameless) || 'none'}`,
  )
}

function judgeCatalogue({ upbit, binance, trading, coins }: World): Verdict {
  const [krw, usdt] = [lastPrices(upbit?.ticks ?? []), lastPrices(binance?.ticks ?? [])]
  const rate = krw.get(RATE_MARKET)
  const premiums = coins.flatMap(coin => {
    const [up, down] = [krw.get(coin.upbit), usdt.get(coin.binance) ?? trading?.prices.get(coin.binance)]
    if (rate === undefined || up === undefined || down === undefined) return []
    return [{ coin, premium: percentOf(premiumE4(up, down, rate)) }]
  })
  if (premiums.length < 3)
    return unknown(`prices of ${premiums.length} pairs`, 'See the lists and the streams.')
  const sorted = premiums.map(({ premium }) => premium).sort((a, b) => a - b)
  const median = sorted[sorted.length >> 1] ?? 0
  const far = premiums
    .filter(({ premium }) => Math.abs(premium - median) > FAR_POINTS)
    .sort((a, b) => Math.abs(b.premium - median) - Math.abs(a.premium - median))
  const seen = `${premiums.length} of ${coins.length} pairs compared, median ${median.toFixed(2)} %`
  if (far.length === 0) return ok(seen)
  const pairs = far.map(({ coin, premium }) => {
    const names = `${coin.name} (${coin.upbit}) and ${coin.binance.replace(/USDT$/, '')} (${coin.binance})`
    return `${names} ${premium.toFixed(2)} %`
  })
  const advice =
    'Find out whether each is one coin on both exchanges; DENY it or add a line to pairs.ts if not.'
  return unknown(`${seen}; off: ${pairs.join('; ')}`, advice)
}
