import { REFERENCE_MARKETS } from '@kimchi/core'
import fc from 'fast-check'
import t from 'tap'
import { MarketSearch } from '../../src/feed/market-search.ts'
import { upbitProtocol } from '../../src/upbit/protocol.ts'
import { AT, passUntil, until, watchFeed } from '../harness.ts'
import { type Peer, scriptExchange, upbitTicker } from '../scripted-exchange.ts'

const codes = Array.from({ length: 200 }, (_, i) => `KRW-C${i}`)
const ALL = [...REFERENCE_MARKETS.upbit, ...codes]
const SECOND = 1_000

/** Runs a search against an exchange that refuses every list with one of these codes. */
function run(search: MarketSearch, dead: ReadonlySet<string>) {
  let refusals = 0
  const isRefused = () => search.subscribed.some(market => dead.has(market))
  for (let lists = 0; lists < 2_000 && (isRefused() || search.isSearching); lists++) {
    if (isRefused()) {
      refusals += 1
      search.reject(AT)
      if (search.isHopeless) break
    } else {
      for (const market of search.subscribed) search.prove(market)
      search.accept()
    }
  }
  return refusals
}

t.test('60. one dead code among 200 is found by at most nine refusals', async () => {
  fc.assert(
    fc.property(fc.constantFrom(...codes), dead => {
      const search = new MarketSearch(ALL, 'KRW-USDT')
      const refusals = run(search, new Set([dead]))
      return (
        refusals <= 9 &&
        search.refused.join() === dead &&
        search.subscribed.join() === ALL.filter(market => market !== dead).join()
      )
    }),
  )
})

t.test('several dead codes are all found, and nothing else is left out', async () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.constantFrom('KRW-BTC', ...codes), { maxLength: 6 }), dead => {
      const search = new MarketSearch(ALL, 'KRW-USDT')
      run(search, new Set(dead))
      return [...search.refused].sort().join() === [...dead].sort().join()
    }),
    { numRuns: 300 },
  )
})

t.test('codes that had a snapshot are suspected last', async t => {
  const search = new MarketSearch(ALL, 'KRW-USDT')
  for (const market of ALL.slice(0, -1)) search.prove(market)
  t.equal(search.reject(AT), codes.at(-1), 'found at once')
  t.equal(search.subscribed.length, ALL.length - 1)
  t.ok(run(search, new Set(['KRW-C7'])) <= 9, 'a code that had a snapshot and died is found too')
  t.strictSame(search.refused, [codes.at(-1), 'KRW-C7'])
})

t.test('the rate is never left out: without it every list is useless', async t => {
  const search = new MarketSearch(ALL, 'KRW-USDT')
  run(search, new Set(['KRW-USDT']))
  t.equal(search.isHopeless, true)
  t.strictSame(search.subscribed, ALL)
  t.strictSame(search.refused, ['KRW-USDT'])
  search.prove('KRW-USDT')
  t.equal(search.isHopeless, false)
  t.strictSame(search.refused, [])
})

t.test(
  'a refused market is tried again after an hour, and forgotten when it is no longer wanted',
  async t => {
    const search = new MarketSearch(ALL, 'KRW-USDT')
    run(search, new Set(['KRW-C7']))
    t.equal(search.forgive(AT + 3_599 * SECOND), false)
    t.equal(search.forgive(AT + 3_600 * SECOND), true)
    t.strictSame(search.subscribed, ALL)
    search.reject(AT)
    t.strictSame(search.refused, ['KRW-C7'], 'one refusal is enough then')
    search.want(ALL.filter(market => market !== 'KRW-C7'))
    t.strictSame(search.refused, [])
  },
)

t.test('markets may be added and removed during a search', async t => {
  const search = new MarketSearch(ALL, 'KRW-USDT')
  search.reject(AT)
  const next = [...ALL.filter(market => market !== 'KRW-C3'), 'KRW-NEW']
  search.want(next)
  t.ok(search.isSearching)
  run(search, new Set(['KRW-C150']))
  t.strictSame(search.refused, ['KRW-C150'])
  t.strictSame(
    search.subscribed,
    next.filter(market => market !== 'KRW-C150'),
  )
})

/** Makes a scripted Upbit refuse every list with a dead code by an error frame. */
function refuseLists(exchange: Awaited<ReturnType<typeof scriptExchange>>, dead: string) {
  let seen = 0
  const answered = new WeakMap<Peer, number>()
  const lists: string[][] = []
  const answer = () => {
    for (const peer of exchange.peers.slice(seen)) {
      for (const text of peer.received.slice(answered.get(peer) ?? 0)) {
        const list: string[] = JSON.parse(text)[1].codes
        lists.push(list)
        if (list.includes(dead)) {
          peer.socket.send(Buffer.from('{"error":{"name":"INVALID_PARAM","message":"no such code"}}'))
          seen = exchange.peers.length
        } else for (const market of list) peer.socket.send(upbitTicker(market, 5, AT, 'SNAPSHOT'))
      }
      answered.set(peer, peer.received.length)
      if (peer.socket.readyState === 1) peer.socket.send(upbitTicker('KRW-BTC', 5, AT))
    }
  }
  return { answer, lists }
}

t.test(
  '60. Upbit refuses the list because of one code: all others are live within 120 s, at a start',
  async t => {
    const exchange = await scriptExchange(t)
    let asked = 0
    const { clock, feed, log, ticks } = watchFeed(t, {
      protocol: upbitProtocol(exchange.url),
      markets: codes,
      onRefusedMarkets: () => {
        asked += 1
      },
    })
    const { answer } = refuseLists(exchange, 'KRW-C77')
    const snapshots = () =>
      new Set(ticks.filter(({ origin }) => origin === 'snapshot').map(({ market }) => market))
    await passUntil(clock, 'all others are live', () => {
      answer()
      return feed.status().state === 'up' && snapshots().size === 204
    })
    t.comment(`all others live after ${(clock.now() - AT) / 1_000} s, ${exchange.state.attempts} connections`)
    t.ok(clock.now() - AT <= 120_000)
    t.ok(exchange.state.attempts <= 20)
    t.ok(asked > 0, 'the caller is told to load the lists')
    t.strictSame(feed.status().refusedMarkets, ['KRW-C77'])
    t.equal(log.lines.filter(({ message }) => /refuses a market/.test(message)).length, 1)
    t.notOk(snapshots().has('KRW-C77'))
  },
)

t.test(
  '60. a code that dies while the feed runs is left out, and the half that works stays live meanwhile',
  async t => {
    const exchange = await scriptExchange(t)
    const { clock, feed } = watchFeed(t, {
      protocol: upbitProtocol(exchange.url),
      markets: codes.slice(0, 20),
    })
    const well = refuseLists(exchange, 'none')
    await passUntil(clock, 'up', () => {
      well.answer()
      return feed.status().state === 'up' && clock.now() > AT + 20_000
    })
    const ill = refuseLists(exchange, 'KRW-C5')
    let upWhileSearching = false
    await passUntil(clock, 'the code is named', () => {
      ill.answer()
      if (feed.status().reconnects > 0 && feed.status().state === 'up') upWhileSearching = true
      return feed.status().refusedMarkets.length > 0
    })
    t.strictSame(feed.status().refusedMarkets, ['KRW-C5'])
    t.ok(upWhileSearching)
    await passUntil(clock, 'all others', () => {
      ill.answer()
      return feed.status().state === 'up' && ill.lists.at(-1)?.length === 24
    })
  },
)

t.test('an error of another name does not change the list', async t => {
  const exchange = await scriptExchange(t)
  const { clock, feed } = watchFeed(t, { protocol: upbitProtocol(exchange.url), markets: ['KRW-DOT'] })
  await until('the list', () => exchange.peers[0]?.received.length === 1)
  exchange.peers[0]?.socket.send(Buffer.from('{"error":{"name":"TOO_MANY_REQUEST","message":"x"}}'))
  await passUntil(clock, 'the next', () => exchange.peers[1]?.received.length === 1)
  const [first, second] = exchange.peers.map(peer => JSON.parse(peer.received[0] ?? '')[1].codes)
  t.strictSame(second, first)
  t.strictSame(feed.status().refusedMarkets, [])
})
