import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { type Coin, percentOf, premiumE4, type Sample } from '@kimchi/core'
import { matchCoins } from '@kimchi/feeds'
import t from 'tap'
import { Quarantine } from '../../src/coins/quarantine.ts'

/** Prices of both exchanges at six moments of August 2026, beside the repository; absent in a plain clone. */
const RECORDED = new URL('../../../../../shared/recorded/usdtio/', import.meta.url)
const skip = existsSync(RECORDED) ? false : 'the recorded exchange data is not beside this repository'

/** One moment as it was published, with the author's own premium against a bank's rate. */
interface Moment {
  readonly updated_iso: string
  readonly usdkrw: number
  /** Upbit's KRW-USDT against that rate, in percent. */
  readonly kimp_usdt: number
  readonly coins: readonly { sym: string; name: string; krw: number; usd: number; kimp: number }[]
}

const moments: readonly Moment[] = skip
  ? []
  : readdirSync(RECORDED)
      .map(file => JSON.parse(readFileSync(new URL(file, RECORDED), 'utf8')) as Moment)
      .sort((a, b) => (a.updated_iso < b.updated_iso ? -1 : 1))

/** KRW-USDT moves in whole won. */
const rateOf = ({ usdkrw, kimp_usdt: off }: Moment) => Math.round(usdkrw * (1 + off / 100))

function samplesOf(moment: Moment, minute: number): Sample[] {
  const usdtKrw = rateOf(moment)
  return moment.coins.map(({ sym: symbol, krw: upbitKrw, usd: binanceUsdt }) => {
    const premium = premiumE4(upbitKrw, binanceUsdt, usdtKrw)
    return { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: premium, source: 'live' }
  })
}

function coinsOf({ coins }: Moment): readonly Coin[] {
  const upbit = coins.map(({ sym, name }) => ({ market: `KRW-${sym}`, asset: sym, name }))
  const binance = coins.map(({ sym }) => ({ market: `${sym}USDT`, asset: sym, trading: true }))
  return matchCoins({ upbit, binance, wanted: 'all' }).coins
}

t.test('the formula gives what the author of the recording and a calculation by hand give', { skip }, t => {
  t.equal(moments.length, 6)
  // Both the author's premium and the rate in the file are rounded to two decimals.
  for (const { coins, usdkrw, updated_iso: at } of moments) {
    const off = coins.filter(({ krw, usd, kimp }) => {
      return Math.abs(percentOf(premiumE4(krw, usd, usdkrw)) - kimp) > 0.005_5
    })
    t.strictSame(off, [], `${at}: ${coins.length} premiums against the bank's rate, to two decimals`)
  }
  const premiumOf = (index: number, symbol: string) =>
    samplesOf(moments[index] as Moment, 0).find(sample => sample.symbol === symbol)
  t.match(premiumOf(5, 'BTC'), { upbitKrw: 107_168_000, usdtKrw: 1_378, premiumE4: -17 }, '-0.0017 %')
  t.match(premiumOf(5, 'ZIL'), { upbitKrw: 3.26, binanceUsdt: 0.002662, premiumE4: -111_289 })
  t.match(premiumOf(2, 'RVN'), { upbitKrw: 3.34, binanceUsdt: 0.00265, premiumE4: -107_381 })
  t.match(premiumOf(5, 'MANTRA'), { upbitKrw: 5.99, binanceUsdt: 0.00466, premiumE4: -67_193 })
  t.end()
})

t.test(
  'ZIL, RVN and MANTRA stand off the median and are published by their first comparison',
  { skip },
  t => {
    const furthest = new Map<string, number>()
    for (const moment of moments) {
      const coins = coinsOf(moment)
      const samples = samplesOf(moment, 1)
      const fresh = new Quarantine({ allow: [], deny: [] })
      fresh.follow({ coins, published: [] })
      t.equal(fresh.judgeMinute(samples).length, coins.length, moment.updated_iso)

      const sorted = samples.map(sample => sample.premiumE4).sort((a, b) => a - b)
      const median = sorted[sorted.length >> 1] ?? 0
      for (const { symbol, premiumE4: premium } of samples) {
        const off = Math.abs(premium - median) / 10_000
        furthest.set(symbol, Math.max(off, furthest.get(symbol) ?? 0))
      }
    }
    const apart = [...furthest].filter(([, off]) => off > 5).sort((a, b) => b[1] - a[1])
    t.comment(
      `more than 5 points off the median: ${apart.map(([symbol, off]) => `${symbol} ${off.toFixed(2)}`)}`,
    )
    t.strictSame(
      apart.map(([symbol]) => symbol),
      ['ZIL', 'RVN', 'STORJ', 'MANTRA'],
    )
    t.ok(
      apart.every(([, off]) => off < 12),
      'the limit of 15 points leaves room',
    )
    t.end()
  },
)
