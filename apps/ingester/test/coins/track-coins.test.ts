import type { Coin, Sample } from '@kimchi/core'
import type { SampleWriter } from '@kimchi/store'
import t from 'tap'
import { Quarantine } from '../../src/coins/quarantine.ts'
import { CoinTracking } from '../../src/coins/track-coins.ts'
import { silent } from '../support/backfill-bench.ts'
import { coinOf } from '../support/market.ts'

const MARKET = ['BTC', 'ETH', 'XRP', 'SOL', 'ADA'].map(coinOf)
const NEW = coinOf('NEW')

/** A sample without a premium. */
function evenSample(symbol: string, minute: number): Sample {
  const prices = { upbitKrw: 1_400, binanceUsdt: 1, usdtKrw: 1_400 }
  return { symbol, minute, ...prices, premiumE4: 0, source: 'live' }
}

/** A quarantine that tells this writer what it decides. */
function openTracking(writer: Pick<SampleWriter, 'track'>): Quarantine {
  const onJudged = () => tracking.update()
  const quarantine = new Quarantine({ allow: [], deny: [], onJudged })
  const tracking = new CoinTracking({ quarantine, writer, log: silent })
  return quarantine
}

t.test('Redis is told of the coins when they change, and not in between', async t => {
  const told: (readonly string[])[] = []
  let minute = 0
  const quarantine = openTracking({ track: async coins => void told.push(coins.map(({ name }) => name)) })
  const follow = (coins: readonly Coin[]) => {
    quarantine.follow({ coins, published: MARKET })
    minute += 1
    quarantine.judgeMinute(MARKET.map(({ symbol }) => evenSample(symbol, minute)))
  }
  follow([])
  t.strictSame(told, [])
  follow(MARKET)
  follow([...MARKET, NEW])
  t.strictSame(told, [['BTC', 'ETH', 'XRP', 'SOL', 'ADA']], 'NEW is quarantined')
  const [btc, ...others] = MARKET as [Coin, ...Coin[]]
  follow([{ ...btc, name: 'BTC!' }, ...others])
  const unchanged = ['ETH', 'XRP', 'SOL', 'ADA']
  t.strictSame(told.slice(1), [unchanged, ['BTC!', ...unchanged]], 'the market confirms a renamed coin')
})
