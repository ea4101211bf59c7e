import { type Coin, minuteOf, type Sample } from '@kimchi/core'
import { openRedis, SampleReader, SampleWriter } from '@kimchi/store'
import { eventually, startRedis } from '@kimchi/testkit'
import t from 'tap'
import { Quarantine } from '../../src/coins/quarantine.ts'
import { CoinTracking } from '../../src/coins/track-coins.ts'
import { silent } from '../support/backfill-bench.ts'
import { coinOf } from '../support/market.ts'

const MARKET = ['BTC', 'ETH', 'XRP', 'SOL', 'ADA'].map(coinOf)
const [NEW, OTHER] = [coinOf('NEW'), coinOf('OTHER')]

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

t.test(
  'an ingester that releases a coin leaves alone what another one tracks and it quarantines itself',
  async t => {
    const redis = await startRedis(t)
    const connection = openRedis(redis.url, { name: 'test' })
    t.teardown(() => connection.close())
    await connection.untilReady(60_000)
    const reader = new SampleReader({ redis: connection })
    const open = () => {
      const writer = new SampleWriter({
        redis: connection,
        prices: 'simulated',
        retentionDays: 8,
        log: silent,
      })
      return openTracking(writer)
    }
    const releaseNew = 'after-30-minutes'
    const tracked = async (): Promise<string[]> => {
      const { coins } = await reader.readBoard()
      return coins.filter(({ order }) => order !== undefined).map(({ symbol }) => symbol)
    }
    const one = open()
    const other = open()
    one.follow({ releaseNew, coins: [...MARKET, NEW], published: [...MARKET, NEW] })
    other.follow({ releaseNew, coins: [...MARKET, NEW, OTHER], published: MARKET })
    await eventually('both have told', async () =>
      (await tracked().catch((): string[] => [])).includes('NEW'),
    )
    for (let minute = minuteOf(Date.now()), end = minute + 30; minute < end; minute++) {
      other.judgeMinute([...MARKET, OTHER].map(({ symbol }) => evenSample(symbol, minute)))
    }
    await eventually('OTHER is tracked', async () => (await tracked()).includes('OTHER'))
    t.strictSame((await tracked()).sort(), ['ADA', 'BTC', 'ETH', 'NEW', 'OTHER', 'SOL', 'XRP'])
  },
)

t.test('Redis is told of the coins when they change, and not in between', async t => {
  const told: (readonly string[])[] = []
  let minute = 0
  const quarantine = openTracking({ track: async coins => void told.push(coins.map(({ name }) => name)) })
  const follow = (coins: readonly Coin[]) => {
    quarantine.follow({ coins, published: MARKET, releaseNew: 'after-30-minutes' })
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
