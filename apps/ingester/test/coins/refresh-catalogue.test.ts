import type { Coin } from '@kimchi/core'
import { createDoors, RestClient, type WantedCoins } from '@kimchi/feeds'
import { startSimulator } from '@kimchi/simulator'
import type { KnownCoin } from '@kimchi/store'
import { createMemoryLog, eventually, passUntil } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t, { type Test } from 'tap'
import type { CatalogueNow } from '../../src/coins/quarantine.ts'
import { CatalogueRefresh } from '../../src/coins/refresh-catalogue.ts'
import { silent } from '../support/backfill-bench.ts'

const REFRESH_MS = 600_000

function known(symbol: string, order: number | undefined, binance = `${symbol}USDT`): KnownCoin {
  return { symbol, name: symbol, upbit: `KRW-${symbol}`, binance, order }
}

/** Coins kept in step with a real simulator through real REST requests. */
async function start(
  t: Test,
  wanted: WantedCoins = 'all',
  inRedis: readonly KnownCoin[] | ((ending: AbortController) => readonly KnownCoin[] | undefined) = [],
) {
  const simulator = await startSimulator({ pumpMs: 0, limits: false })
  t.teardown(() => simulator.close())
  const clock = createManualClock(Date.now())
  const ending = new AbortController()
  const urls = { upbit: simulator.url, binance: simulator.url }
  const doors = createDoors(
    { streams: urls, rest: urls, userAgent: 'test' },
    { clock, random: () => 0.5, log: silent, signal: ending.signal },
  )
  const rest = new RestClient(doors)
  const catalogues: CatalogueNow[] = []
  const log = createMemoryLog()
  let loads = 0
  const catalogue = new CatalogueRefresh(
    {
      wanted,
      readPublished: async () => (typeof inRedis === 'function' ? inRedis(ending) : inRedis),
      fetchListings: () => {
        loads += 1
        return rest.fetchListings()
      },
      onCatalogue: now => catalogues.push(now),
      refreshMs: REFRESH_MS,
    },
    { clock, random: () => 0.5, signal: ending.signal, log },
  )
  const running = catalogue.run()
  running.catch(() => {})
  t.teardown(async () => {
    ending.abort()
    await running.catch(() => {})
  })
  const warnings = () => log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)
  return {
    simulator,
    clock,
    catalogues,
    status: () => catalogue.status(),
    running,
    loads: () => loads,
    catalogue,
    warnings,
  }
}

const half = (rows: readonly unknown[]) => rows.slice(0, rows.length / 2)

const symbolsOf = (now: { readonly coins: readonly Coin[] } | undefined) =>
  now?.coins.map(({ symbol }) => symbol)

t.test('half a list takes none of a few coins, however often it comes', async t => {
  const { catalogues } = await start(t)
  await eventually('the lists', () => catalogues.length === 1)
  const all = symbolsOf(catalogues[0]) ?? []
  for (const exchange of ['upbit', 'binance'] as const)
    for (const wanted of [all.slice(0, 3), all.slice(-3)]) {
      const few = await start(t, wanted)
      await eventually('the lists', () => few.catalogues.length === 1)
      few.simulator.faults.set({ kind: 'rest', exchange, alter: half })
      await passUntil(few.clock, 'three attempts', () => few.loads() >= 4, 1_000)
      t.strictSame(symbolsOf(few.catalogues.at(-1)), wanted)
    }
})

t.test('an ingester that ends while Redis names its coins tells nobody of coins', async t => {
  const { catalogues, running } = await start(t, 'all', ending => {
    ending.abort()
    return [known('BTC', 0)]
  })
  await running.catch(() => {})
  t.strictSame(catalogues, [])
})

t.test(
  'a list that is empty, cut off or half as long changes nothing, says so, and is asked for again',
  async t => {
    const { simulator, clock, catalogues, status, loads } = await start(t)
    await eventually('the lists', () => catalogues.length === 1)
    const before = catalogues[0]?.coins
    t.ok((before?.length ?? 0) > 15)
    for (const [exchange, alter] of [
      ['upbit', () => []],
      ['binance', 'cut'],
      ['upbit', half],
      ['binance', half],
    ] as const) {
      const undo = simulator.faults.set({ kind: 'rest', exchange, alter })
      const [told, asked] = [catalogues.length, loads()]
      await passUntil(
        clock,
        'three attempts',
        () => loads() >= asked + 3 && status().problem !== undefined,
        1_000,
      )
      t.equal(catalogues.length, told, `${exchange} ${alter}: the catalogue stays`)
      t.match(status().problem, exchange)
      undo()
      await passUntil(clock, 'the lists are whole again', () => catalogues.length > told)
      t.equal(status().problem, undefined)
      t.strictSame(catalogues.at(-1)?.coins, before)
      await clock.advance(REFRESH_MS - 120_000)
    }
  },
)

// docs/faults.md, 59
t.test('a coin leaves when two lists in a row lack it: one may be short', async t => {
  const { simulator, clock, catalogues, loads } = await start(t)
  await eventually('the lists', () => catalogues.length === 1)
  const path = '/api/v3/exchangeInfo'
  let asked = 0
  simulator.faults.set({
    kind: 'rest',
    exchange: 'binance',
    alter: rows => (asked++ > 0 ? rows : rows.filter(row => !JSON.stringify(row).includes('ETHUSDT'))),
    path,
  })
  await passUntil(clock, 'the next lists', () => catalogues.length === 2, 5_000)
  t.strictSame(catalogues[1]?.coins, catalogues[0]?.coins)
  t.equal(loads(), 3, 'it has asked again')
  simulator.delist('ETHUSDT')
  await passUntil(clock, 'the lists after those', () => catalogues.length === 3, 5_000)
  t.strictSame(
    symbolsOf(catalogues[2]),
    symbolsOf(catalogues[0])?.filter(symbol => symbol !== 'ETH'),
  )
})

t.test('a restart does not believe in lists that lack a quarter of its coins', async t => {
  const many = Array.from({ length: 40 }, (_, at) => known(`GONE${at}`, at))
  const { catalogues, status, clock } = await start(t, 'all', [known('BTC', 0), ...many])
  await passUntil(clock, 'a complaint', () => status().problem !== undefined)
  t.match(status().problem, /must not lack more than 10 of the 41 known coins, got: 40 missing/)
  t.equal(catalogues.length, 1)
  t.equal(catalogues[0]?.coins.length, 41, 'those that are stored')
})

t.test(
  'stored coins start the feeds at once, in the order asked for, but pass today’s table of pairs',
  async t => {
    const stored = [
      known('BTC', 0),
      known('ETH', 1),
      known('PROS', 2),
      known('AI', 3),
      known('BTT', 4, 'BTTCUSDT'),
      known('USDC', 5),
      known('XRP', undefined),
    ]
    const all = await start(t, 'all', stored)
    await eventually('the stored coins', () => all.catalogues.length > 0)
    t.strictSame(
      symbolsOf(all.catalogues[0]),
      ['BTC', 'BTT', 'ETH'],
      'no denied, no stale pair, no stablecoin',
    )
    const named = await start(t, ['ETH', 'USDC', 'BTC', 'SOL'], stored)
    await eventually('the lists', () => named.catalogues.length === 2)
    t.strictSame(symbolsOf(named.catalogues[0]), ['ETH', 'USDC', 'BTC'])
    t.strictSame(symbolsOf(named.catalogues[1]), ['ETH', 'USDC', 'BTC', 'SOL'])
    t.strictSame(named.catalogues[1]?.published, stored, 'what has left was published too')
  },
)

// docs/faults.md, 46
t.test('a restart while Redis is slow waits for the coins that were published', async t => {
  const stored = ['BTC', 'ETH', 'XRP', 'SOL', 'DOGE', 'ADA', 'TRX', 'LINK', 'AVAX', 'DOT', 'SUI'].map(
    (symbol, at) => known(symbol, at),
  )
  let inRedis: readonly KnownCoin[] | undefined
  const slow = await start(t, 'all', () => inRedis)
  await passUntil(slow.clock, 'a complaint', () => slow.status().problem !== undefined)
  t.match(slow.status().problem, 'Redis has not said yet which coins were published')
  t.equal(slow.loads(), 0, 'the exchanges are not asked in vain')
  inRedis = stored
  const startedAt = slow.clock.now()
  await passUntil(slow.clock, 'the lists', () => slow.catalogues.length > 0)
  t.strictSame(slow.catalogues[0]?.published, stored, 'which need no comparison')
  t.ok(slow.clock.now() - startedAt <= 15_000, 'and soon')
})

// docs/faults.md, 45
t.test('a delisted coin of COINS stops nobody while Redis has not said that it knew it', async t => {
  const late = await start(t, ['BTC', 'QQQQ'], () => undefined)
  await passUntil(late.clock, 'the lists', () => late.catalogues.length > 0)
  t.strictSame(symbolsOf(late.catalogues[0]), ['BTC'])
  t.strictSame(late.status().missing, ['QQQQ (not on Upbit in KRW)'])
  t.strictSame(late.warnings(), ['COINS that are not tracked: QQQQ (not on Upbit in KRW)'], 'and it is said')
})

t.test(
  'a denied coin is refused by name with the reason, an unknown one too, one that was tracked once is not',
  async t => {
    const denied = await start(t, ['BTC', 'PROS'], [known('PROS', undefined)])
    await t.rejects(denied.running, {
      code: 'KIMCHI_ERR_UNKNOWN_SYMBOL',
      message: /PROS cannot be tracked: Pharos/,
    })
    const unknown = await start(t, ['BTC', 'QQQQ'])
    await t.rejects(unknown.running, {
      code: 'KIMCHI_ERR_UNKNOWN_SYMBOL',
      message: /QQQQ cannot be tracked: not on Upbit/,
    })
    const gone = await start(t, ['BTC', 'QQQQ'], [known('QQQQ', undefined)])
    await eventually('the lists', () => gone.catalogues.length > 0)
    t.match(gone.catalogues.at(-1), { coins: [{ symbol: 'BTC' }] })
    t.strictSame(gone.status().missing, ['QQQQ (not on Upbit in KRW)'])
  },
)

// docs/faults.md, 60
t.test('a refused subscription loads lists that are a minute old at once, and none is dropped', async t => {
  const { clock, catalogue, catalogues, loads } = await start(t)
  await eventually('the load at the start', () => catalogues.length === 1)
  await clock.advance(90_000)
  catalogue.refreshNow()
  await eventually('the first refusal', () => catalogues.length === 2)
  for (let refusals = 0; refusals < 5; refusals++) catalogue.refreshNow()
  await clock.advance(59_999)
  t.equal(loads(), 2, 'once a minute')
  await clock.advance(1)
  await eventually('the later refusals', () => catalogues.length === 3)
  await clock.advance(61_000)
  t.equal(loads(), 3, 'all of them by one load')
})
