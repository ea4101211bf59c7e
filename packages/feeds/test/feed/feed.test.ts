import { createManualClock } from '@kimchi/core/testing'
import t from 'tap'
import { binanceProtocol } from '../../src/binance/protocol.ts'
import { binanceSeed } from '../../src/binance/seed.ts'
import { upbitProtocol } from '../../src/upbit/protocol.ts'
import { AT, simulate, until, watchFeed } from '../harness.ts'
import { miniTicker, scriptExchange, upbitTicker } from '../scripted-exchange.ts'

t.test('Upbit: every market gives a snapshot, then what trades, on one connection', async t => {
  const simulator = await simulate(t)
  const { feed, ticks } = watchFeed(t, {
    protocol: upbitProtocol(simulator.upbitWsUrl),
    markets: ['KRW-ETH', 'KRW-XRP'],
  })
  await until('stream ticks of BTC', () =>
    ticks.some(({ origin, market }) => origin === 'stream' && market === 'KRW-BTC'),
  )
  const snapshots = ticks.filter(({ origin }) => origin === 'snapshot').map(({ market }) => market)
  t.strictSame(snapshots.sort(), ['KRW-BTC', 'KRW-ETH', 'KRW-USDT', 'KRW-XRP'], 'reference markets included')
  t.equal(simulator.connections('upbit'), 1)
  t.match(feed.status(), { exchange: 'upbit', state: 'up', connections: 1, markets: 4, malformed: 0 })
})

t.test('Binance: seeds come first for every market, then frames', async t => {
  const simulator = await simulate(t)
  const clock = createManualClock(AT)
  const { feed, ticks } = watchFeed(
    t,
    {
      protocol: binanceProtocol(simulator.binanceWsUrl),
      seed: binanceSeed({ restUrl: simulator.binanceRestUrl }, { clock }),
      markets: ['ETHUSDT'],
    },
    clock,
  )
  await until(
    'seed and stream',
    () => feed.status().seedsOk === 1 && ticks.some(({ origin }) => origin === 'stream'),
  )
  const seeds = ticks.filter(({ origin }) => origin === 'seed')
  t.strictSame(seeds.map(({ market }) => market).sort(), ['BTCUSDT', 'ETHUSDT'])
  t.ok(seeds.every(({ eventAt, receivedAt, tradedAt }) => eventAt === receivedAt && tradedAt === undefined))
  t.match(feed.status(), { state: 'up', seedsFailed: 0, lastError: undefined })
})

t.test('never sends an Origin header', async t => {
  const exchange = await scriptExchange(t)
  watchFeed(t, { protocol: upbitProtocol(exchange.url) })
  await until('connection', () => exchange.peers.length === 1)
  t.equal(exchange.peers[0]?.request.headers.origin, undefined)
})

t.test('a first seed that fails is tried again while the connection lives', async t => {
  const exchange = await scriptExchange(t)
  let calls = 0
  const { feed, clock, ticks } = watchFeed(t, {
    protocol: binanceProtocol(exchange.url),
    seed: async markets => {
      calls += 1
      if (calls < 3) throw new Error('no answer')
      return markets.map(market => ({ ...SEED, market }))
    },
  })
  await until('first failure', () => feed.status().seedsFailed === 1)
  await clock.advance(500)
  t.equal(calls, 2)
  await clock.advance(1_000)
  t.equal(calls, 3)
  t.match(feed.status(), { seedsOk: 1, seedsFailed: 2, lastError: { message: 'no answer' } })
  t.match(ticks, [{ market: 'BTCUSDT', origin: 'seed' }])
})

t.test('Upbit: changed markets are sent whole on the same connection, quick changes as one', async t => {
  const exchange = await scriptExchange(t)
  const { feed, clock, ticks } = watchFeed(t, { protocol: upbitProtocol(exchange.url), markets: ['KRW-ETH'] })
  await until('subscription', () => exchange.peers[0]?.received.length === 1)
  feed.setMarkets(['KRW-ETH', 'KRW-XRP'])
  feed.setMarkets(['KRW-SOL'])
  await clock.advance(1_000)
  const peer = exchange.peers[0]
  await until('second subscription', () => peer?.received.length === 2)
  t.strictSame(JSON.parse(peer?.received[1] ?? '')[1].codes, ['KRW-BTC', 'KRW-USDT', 'KRW-SOL'])
  peer?.socket.send(upbitTicker('KRW-ETH', 5, AT))
  peer?.socket.send(upbitTicker('KRW-SOL', 6, AT))
  await until('tick', () => ticks.length > 0)
  t.strictSame(
    ticks.map(({ market }) => market),
    ['KRW-SOL'],
    'a forgotten market gives no more ticks',
  )
  t.equal(exchange.state.attempts, 1)
})

t.test('Binance: changed markets send the difference and are seeded', async t => {
  const exchange = await scriptExchange(t)
  const asked: string[][] = []
  const { feed, clock, ticks } = watchFeed(t, {
    protocol: binanceProtocol(exchange.url),
    markets: ['ETHUSDT'],
    seed: async markets => {
      asked.push([...markets])
      return markets.map(market => ({ ...SEED, market }))
    },
  })
  await until('subscription', () => exchange.peers[0]?.received.length === 1)
  feed.setMarkets(['XRPUSDT'])
  await clock.advance(1_000)
  await until('difference', () => exchange.peers[0]?.received.length === 3)
  const methods = exchange.peers[0]?.received.map(text => [
    JSON.parse(text).method,
    ...JSON.parse(text).params,
  ])
  t.strictSame(methods, [
    ['SUBSCRIBE', 'btcusdt@miniTicker', 'ethusdt@miniTicker'],
    ['UNSUBSCRIBE', 'ethusdt@miniTicker'],
    ['SUBSCRIBE', 'xrpusdt@miniTicker'],
  ])
  t.strictSame(asked, [['BTCUSDT', 'ETHUSDT'], ['XRPUSDT']])
  exchange.peers[0]?.socket.send(miniTicker('ETHUSDT', '5', AT))
  exchange.peers[0]?.socket.send(miniTicker('XRPUSDT', '5', AT))
  await until('tick', () => ticks.at(-1)?.origin === 'stream')
  t.strictSame(
    ticks.filter(({ origin }) => origin === 'stream').map(({ market }) => market),
    ['XRPUSDT'],
  )
})

t.test('more markets than a connection may carry are refused', async t => {
  const exchange = await scriptExchange(t)
  const protocol = { ...binanceProtocol(exchange.url), maxMarkets: 2 }
  const { feed } = watchFeed(t, { protocol })
  t.throws(() => feed.setMarkets(['AUSDT', 'BUSDT']), {
    code: 'KIMCHI_ERR_CONFIG',
    message: /at most 2.*got: 3/,
  })
})

for (const [name, protocolOf, markets] of [
  ['upbit', upbitProtocol, ['KRW-BTC']],
  ['binance', binanceProtocol, ['BTCUSDT']],
] as const) {
  t.test(`${name}: close ends everything, at any moment, and may be called twice`, async t => {
    await t.test('while it is up', async t => {
      const simulator = await simulate(t)
      const url = name === 'upbit' ? simulator.upbitWsUrl : simulator.binanceWsUrl
      const { feed, clock } = watchFeed(t, { protocol: protocolOf(url), markets })
      await until('up', () => feed.status().state === 'up')
      await Promise.all([feed.close(), feed.close()])
      t.equal(feed.status().state, 'closed')
      t.equal(clock.waiting, 0)
      await until('the exchange sees it', () => simulator.connections(name) === 0)
    })
    await t.test('in the middle of a handshake', async t => {
      const exchange = await scriptExchange(t)
      exchange.state.upgrade = () => true
      const { feed, clock } = watchFeed(t, { protocol: protocolOf(exchange.url) })
      await until('handshake', () => exchange.state.attempts === 1)
      await feed.close()
      t.equal(clock.waiting, 0)
      await until('no socket left', () => exchange.sockets.size === 0)
    })
    await t.test('in the middle of a backoff', async t => {
      const { feed, clock } = watchFeed(t, { protocol: protocolOf('ws://127.0.0.1:9') })
      await until('backoff', () => feed.status().state === 'waiting')
      await feed.close()
      t.equal(clock.waiting, 0)
    })
    await t.test('with a peer that never answers the close frame', async t => {
      const exchange = await scriptExchange(t)
      const { feed, clock } = watchFeed(t, { protocol: protocolOf(exchange.url) })
      await until('connection', () => exchange.peers.length === 1)
      exchange.peers[0]?.request.socket.pause()
      const closing = feed.close()
      await clock.advance(500)
      await closing
      t.equal(clock.waiting, 0)
    })
  })
}

t.test('no tick comes after close', async t => {
  const simulator = await simulate(t)
  const { feed, ticks, lost } = watchFeed(t, { protocol: upbitProtocol(simulator.upbitWsUrl) })
  await until('up', () => feed.status().state === 'up')
  const closing = feed.close()
  const count = ticks.length
  await closing
  t.equal(ticks.length, count)
  t.strictSame(lost, [], 'an end of our own is no loss')
})

const SEED = {
  exchange: 'binance',
  price: 1,
  eventAt: AT,
  receivedAt: AT,
  origin: 'seed',
  tradedAt: undefined,
  tradable: true,
} as const
