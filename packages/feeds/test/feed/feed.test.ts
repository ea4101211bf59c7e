import { LatestTicks, minuteOf } from '@kimchi/core'
import { eventually, passUntil } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t from 'tap'
import { binanceProtocol } from '../../src/binance.ts'
import { subscribedMarkets } from '../../src/feed/subscribed-markets.ts'
import { RestClient } from '../../src/rest/client.ts'
import { upbitProtocol } from '../../src/upbit.ts'
import { AT, openDoors, openScripted, simulate, watchFeed } from '../harness.ts'
import {
  acknowledge,
  miniTicker,
  refuseWith,
  scriptExchange,
  untilRead,
  upbitTicker,
} from '../scripted-exchange.ts'

/** The markets that Upbit's feed always subscribes to. */
const ALWAYS = subscribedMarkets('upbit', [])

t.test('a trading status that fails changes nothing, is told and requested again', async t => {
  let calls = 0
  const { exchange, send, feed, clock, ticks, tradable } = await openScripted(t, {
    protocol: binanceProtocol,
    tradingPrices: async () => {
      calls += 1
      if (calls < 3) throw new Error('no answer')
      return new Map([['BTCUSDT', 5]])
    },
  })
  await send(miniTicker('BTCUSDT', '4', AT))
  t.equal(calls, 0, 'no price is requested before the subscription is acknowledged: a trade would be lost')
  acknowledge(exchange.peers[0])
  await eventually('a first failure', () => feed.status().lastError)
  await clock.advance(500)
  t.equal(calls, 2)
  t.equal(tradable.size, 0)
  await clock.advance(1_000)
  t.equal(calls, 3)
  t.match(feed.status(), { statusAt: AT + 1_125, lastError: { message: 'no answer' } })
  const seed = { market: 'BTCUSDT', price: 5, origin: 'seed', tradedAt: AT + 1_125, tradable: true }
  t.match(ticks, [{ origin: 'stream' }, seed])
})

// docs/faults.md, 59
t.test('Binance: an absence counts when a second answer, 15 s later, lacks the market too', async t => {
  const askedAt: number[] = []
  let listed = ['BTCUSDT', 'ETHUSDT']
  const { clock, ticks, tradable } = await openScripted(t, {
    protocol: { ...binanceProtocol, stallAfterMs: 3_600_000 },
    markets: ['ETHUSDT'],
    tradingPrices: async () => {
      askedAt.push((clock.now() - AT) / 1_000)
      return new Map(listed.map(market => [market, 5]))
    },
  })
  await clock.advance(60_000)
  t.strictSame(askedAt, [35], 'once a minute')
  t.equal(tradable.get('ETHUSDT'), true)
  listed = ['BTCUSDT']
  await clock.advance(36_000)
  listed = ['BTCUSDT', 'ETHUSDT']
  await clock.advance(24_000)
  t.strictSame(askedAt, [35, 95, 110])
  t.equal(tradable.get('ETHUSDT'), true, 'one absence changes nothing')
  listed = ['BTCUSDT']
  await clock.advance(40_000)
  t.equal(tradable.get('ETHUSDT'), true)
  await clock.advance(10_000)
  t.equal(tradable.get('ETHUSDT'), false)
  await clock.advance(60_000)
  t.strictSame(askedAt, [35, 95, 110, 155, 170, 215], 'a halt that is known is not asked for twice')
  listed = ['BTCUSDT', 'ETHUSDT']
  await clock.advance(60_000)
  t.equal(tradable.get('ETHUSDT'), true)
  t.strictSame(ticks, [], 'these prices are no seeds')
})

t.test(
  'Binance: an answer counts from when its request went out, not from when it began to wait',
  async t => {
    const exchange = await scriptExchange(t)
    const clock = createManualClock(AT)
    const askedAt: number[] = []
    const fetch = async () => {
      askedAt.push((clock.now() - AT) / 1_000)
      if (askedAt.length > 1) return new Response('[{"symbol":"BTCUSDT","price":"5"}]')
      return new Response('{}', { status: 429, headers: { 'retry-after': '14' } })
    }
    const doors = openDoors({ streams: exchange.url, rest: 'http://x.test', fetch }, { clock })
    const rest = new RestClient(doors)
    const { feed, tradable } = watchFeed(
      t,
      {
        protocol: { ...binanceProtocol, stallAfterMs: 3_600_000 },
        bases: [],
        door: doors.binance,
        markets: ['ETHUSDT'],
        fetchTradingPrices: signal => rest.fetchTradingPrices(signal),
      },
      clock,
    )
    const receive = async () => {
      exchange.peers[0]?.socket.send(miniTicker('BTCUSDT', '5', clock.now()))
      await untilRead(exchange.peers[0])
    }
    await eventually('the subscription', () => exchange.peers[0]?.received.length === 1)
    await receive()
    await passUntil(clock, 'an answer', () => feed.status().statusAt > AT)
    await clock.advance(100)
    // A silence is over.
    await receive()
    const first = feed.status().statusAt
    await passUntil(clock, 'a second answer', () => feed.status().statusAt > first)
    const [, firstAt = 0, secondAt = 0] = askedAt
    t.ok(firstAt - (askedAt[0] ?? 0) >= 14, 'the request waited')
    t.ok(secondAt - firstAt >= 1 && secondAt - firstAt < 15, 'the next one comes soon, but not at once')
    t.not(tradable.get('ETHUSDT'), false)
    await passUntil(clock, 'the halt', () => tradable.get('ETHUSDT') === false)
    t.ok((askedAt.at(-1) ?? 0) - firstAt >= 15)
  },
)

t.test('Upbit: the subscription is sent again once a minute, for its snapshots', async t => {
  const { exchange, send, clock, feed } = await openScripted(t, {
    protocol: { ...upbitProtocol, pingEveryMs: undefined },
    markets: ['KRW-DOT'],
  })
  const peer = exchange.peers[0]
  await send(upbitTicker('KRW-BTC', 5, AT, 'REALTIME'))
  await clock.advance(34_999 - 15_000)
  await send(upbitTicker('KRW-BTC', 5, AT, 'REALTIME'))
  await eventually('the renewal after the silence of 20 seconds', () => peer?.received.length === 2)
  await clock.advance(15_000)
  t.equal(peer?.received.length, 2, 'no other before the next one is due')
  await clock.advance(1)
  await eventually('the renewal', () => peer?.received.length === 3)
  t.strictSame(JSON.parse(peer?.received[2] ?? '')[1].codes, [...ALWAYS, 'KRW-DOT'])
  t.equal(feed.status().statusAt, AT, 'not known yet')
  await send(upbitTicker('KRW-ETH', 5, AT, 'SNAPSHOT'))
  t.equal(feed.status().statusAt, clock.now())
})

t.test('Upbit: snapshots are no data', async t => {
  const { send, feed, ticks, interruptions } = await openScripted(t, { protocol: upbitProtocol })
  for (const market of ['KRW-BTC', 'KRW-USDT']) await send(upbitTicker(market, 5, AT, 'SNAPSHOT'))
  t.equal(ticks.length, 2)
  t.match(feed.status(), { state: 'connecting', lastDataAt: undefined })
  t.strictSame(interruptions, [])
  await send(upbitTicker('KRW-BTC', 5, AT))
  t.equal(feed.status().state, 'up')
  t.match(interruptions, [{ pricesFrom: AT, isClockBack: false, isSilence: false }])
})

for (const protocol of [upbitProtocol, binanceProtocol]) {
  const isUpbit = protocol.exchange === 'upbit'
  const marketOf = (coin: string) => (isUpbit ? `KRW-${coin}` : `${coin}USDT`)
  const frameOf = (coin: string) =>
    isUpbit ? upbitTicker(marketOf(coin), 5, AT) : miniTicker(marketOf(coin), '5', AT)
  t.test(`${protocol.exchange}: the next connection subscribes to changed markets, opened first`, async t => {
    const { exchange, send, untilNext, feed, clock, ticks, forgotten } = await openScripted(t, {
      protocol: { ...protocol, stallAfterMs: 3_600_000 },
      markets: [marketOf('DOT'), marketOf('LINK')],
      ...(isUpbit ? {} : { tradingPrices: async () => new Map() }),
    })
    await send(frameOf('DOT'))
    feed.setMarkets([marketOf('LINK'), marketOf('ADA')])
    feed.setMarkets([marketOf('ADA'), marketOf('XRP')])
    await send(frameOf('LINK'))
    t.equal(ticks.length, 2, 'the old one is read meanwhile')
    await untilNext()
    t.ok(clock.now() - AT <= 60_000)
    t.strictSame(forgotten, [])
    for (const coin of ['DOT', 'ADA']) await send(frameOf(coin), 1)
    t.equal(ticks.length, 3)
    t.equal(ticks.at(-1)?.market, marketOf('ADA'))
    t.strictSame(forgotten, [marketOf('DOT'), marketOf('LINK')])
    await eventually('the old one is closed', () => exchange.peers[0]?.socket.readyState === 3)
    t.equal(exchange.peers.length, 2, 'quick changes are one')
  })
}

t.test('Binance: a market that no connection has yet gets no price from a seed', async t => {
  const latest = new LatestTicks()
  const prices = new Map([
    ['BTCUSDT', 5],
    ['NEWUSDT', 7],
  ])
  const tradingPrices = async () => prices
  const protocol = { ...binanceProtocol, stallAfterMs: 3_600_000 }
  const { exchange, send, feed, clock } = await openScripted(
    t,
    { protocol, sink: latest, markets: ['BTCUSDT'], tradingPrices },
    createManualClock(AT + 41_000),
  )
  const trade = async (afterMs: number) => {
    await clock.advance(afterMs)
    await send(miniTicker('BTCUSDT', '5', clock.now()))
  }
  exchange.state.upgrade = refuseWith('503 Service Unavailable')
  feed.setMarkets(['BTCUSDT', 'NEWUSDT'])
  acknowledge(exchange.peers[0])
  await trade(0)
  // A silence has it seeded.
  for (const afterMs of [4_000, ...Array(20).fill(1_000)]) await trade(afterMs)
  const minute = minuteOf(AT) + 1
  t.equal(latest.before(minute).binance.get('BTCUSDT')?.price, 5)
  t.equal(latest.before(minute).binance.get('NEWUSDT')?.price, undefined)
})

t.test('Upbit: what a successor said that breaks before it is read is forgotten', async t => {
  const latest = new LatestTicks()
  const protocol = { ...upbitProtocol, stallAfterMs: 3_600_000 }
  const at = createManualClock(AT + 11_000)
  const { exchange, send, untilNext, feed, clock } = await openScripted(t, { protocol, sink: latest }, at)
  const trade = () => send(upbitTicker('KRW-BTC', 5, clock.now() - 10))
  await trade()
  feed.setMarkets(['KRW-NEW'])
  await untilNext()
  await send(upbitTicker('KRW-NEW', 9, clock.now() - 1_000, 'SNAPSHOT'), 1)
  exchange.state.upgrade = refuseWith('503 Service Unavailable')
  exchange.peers[1]?.socket.close()
  for (let second = 0; second < 50; second++) {
    await clock.advance(1_000)
    await trade()
  }
  const minute = minuteOf(AT) + 1
  t.equal(latest.before(minute).upbit.get('KRW-BTC')?.price, 5)
  t.equal(latest.before(minute).upbit.get('KRW-NEW')?.price, undefined)
})

t.test('Binance: a long list is seeded again when its last part is acknowledged', async t => {
  const { exchange, clock, ticks } = await openScripted(t, {
    protocol: binanceProtocol,
    markets: Array.from({ length: 400 }, (_, i) => `C${i}USDT`),
    tradingPrices: async () => new Map([['C0USDT', 1]]),
  })
  await eventually('the subscription', () => exchange.peers[0]?.received.length === 2)
  acknowledge(exchange.peers[0], 1)
  await eventually('the seed', () => ticks.length === 1)
  acknowledge(exchange.peers[0])
  exchange.peers[0]?.socket.send(miniTicker('C399USDT', '5', AT))
  await eventually('a tick, after the acknowledgement', () => ticks.length === 2)
  await clock.advance(1_000)
  t.match(ticks[2], { market: 'C0USDT', origin: 'seed' }, 'a trade of the other part may have been lost')
})

t.test('close ends everything, at any moment, and can be called twice', async t => {
  // Pings and ages: whatever waits must end.
  const protocol = { ...upbitProtocol, maxAgeMs: binanceProtocol.maxAgeMs }
  await t.test('while it is up', async t => {
    const simulator = await simulate(t)
    const watched = watchFeed(t, { protocol, bases: simulator.env.UPBIT_WS_URL })
    const { feed, clock, ticks, interruptions } = watched
    await eventually('up', () => feed.status().state === 'up')
    const closing = Promise.all([feed.close(), feed.close()])
    const count = ticks.length
    await closing
    t.equal(ticks.length, count, 'no tick follows')
    t.equal(interruptions.length, 1, 'closing the feed is no interruption')
    t.equal(feed.status().state, 'closed')
    t.equal(clock.waiting, 0)
    await eventually('the exchange sees it', () => simulator.connections('upbit') === 0)
  })
  await t.test('in the middle of a handshake', async t => {
    const exchange = await scriptExchange(t)
    exchange.state.upgrade = () => true
    const { feed, clock } = watchFeed(t, { protocol, bases: exchange.url })
    await eventually('handshake', () => exchange.state.attempts === 1)
    await feed.close()
    t.equal(clock.waiting, 0)
    await eventually('no socket left', () => exchange.sockets.size === 0)
  })
  await t.test('in the middle of a backoff', async t => {
    const { feed, clock } = watchFeed(t, { protocol, bases: 'ws://127.0.0.1:9' })
    await eventually('backoff', () => feed.status().state === 'waiting')
    await feed.close()
    t.equal(clock.waiting, 0)
  })
  await t.test('with a peer that never answers the close frame', async t => {
    const exchange = await scriptExchange(t)
    const { feed, clock } = watchFeed(t, { protocol, bases: exchange.url })
    await eventually('connection', () => exchange.peers.length === 1)
    exchange.peers[0]?.request.socket.pause()
    await feed.close()
    t.equal(clock.waiting, 0)
  })
})

// docs/faults.md, 38
t.test('the frames of a newer connection alone are read, and what the old one said is no price', async t => {
  const latest = new LatestTicks()
  let asked = 0
  const { exchange, send, untilNext, clock } = await openScripted(t, {
    protocol: binanceProtocol,
    markets: ['QUIETUSDT'],
    sink: latest,
    tradingPrices: async () => {
      asked += 1
      return new Map([
        ['BTCUSDT', 5],
        ['QUIETUSDT', asked],
      ])
    },
  })
  const priceOf = (minute: number) => latest.before(minuteOf(AT) + minute).binance.get('QUIETUSDT')?.price
  acknowledge(exchange.peers[0])
  await clock.advance(1_000)
  await send(miniTicker('QUIETUSDT', '1', clock.now()))
  for (let second = 0; second <= 64; second += 2) {
    await send(miniTicker('BTCUSDT', String(second + 1), clock.now()))
    await clock.advance(2_000)
  }
  t.equal(priceOf(1), 1)
  await send('{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1795222584015}}')
  await untilNext()
  t.ok(clock.now() % 60_000 >= 10_000, 'it is opened ten seconds into the minute')
  await send(miniTicker('BTCUSDT', '1', clock.now()))
  await clock.advance(1_100)
  await send(miniTicker('QUIETUSDT', '1', clock.now() - 1_900))
  await send(miniTicker('BTCUSDT', '9', clock.now()), 1)
  await eventually('the old one is closed', () => exchange.peers[0]?.socket.readyState === 3)
  await clock.advance(5_000)
  t.equal(priceOf(2), undefined, 'what the old one said may have been followed by what it did not say')
  acknowledge(exchange.peers[1])
  await eventually('a seed', () => priceOf(2) !== undefined)
  t.equal(priceOf(2), asked)
})

// docs/faults.md, 85
t.test('a clock that steps back and a reconnect leave no price from before', async t => {
  const latest = new LatestTicks()
  const { exchange, send, untilNext, clock } = await openScripted(t, {
    protocol: binanceProtocol,
    markets: ['QUIETUSDT'],
    sink: latest,
  })
  for (const market of ['QUIETUSDT', 'BTCUSDT']) await send(miniTicker(market, '1', clock.now()))
  clock.step(-90_000)
  exchange.peers[0]?.socket.close()
  await untilNext()
  await clock.advance(2_000)
  await send(miniTicker('BTCUSDT', '1', clock.now()), 1)
  t.equal(latest.before(minuteOf(AT) + 2).binance.get('QUIETUSDT')?.price, undefined)
  t.equal(latest.status('binance').watermark, clock.now(), 'the frame that told counts')
})

// docs/faults.md, 98
t.test('frames that drain after a pause show no price, and seeds are asked for when it is over', async t => {
  const latest = new LatestTicks()
  const prices = new Map([
    ['BTCUSDT', 5],
    ['QUIETUSDT', 3],
  ])
  const { send, clock, feed } = await openScripted(t, {
    protocol: binanceProtocol,
    markets: ['QUIETUSDT'],
    sink: latest,
    tradingPrices: async () => prices,
  })
  const priceOf = () => latest.before(minuteOf(AT) + 1).binance.get('QUIETUSDT')?.price
  await send(miniTicker('QUIETUSDT', '1', clock.now()))
  const pausedAt = clock.now()
  clock.pause(9_000)
  for (const second of [1, 2, 3]) await send(miniTicker('BTCUSDT', '5', pausedAt + second * 1_000))
  await send(miniTicker('QUIETUSDT', '2', pausedAt + 3_500))
  t.equal(priceOf(), undefined, 'the trade at which QUIET went from 2 to 3 did not fit into the buffer')
  await send(miniTicker('BTCUSDT', '5', clock.now()))
  await eventually('a seed', () => priceOf() !== undefined)
  t.equal(priceOf(), 3)
  await clock.advance(1_500)
  await send(miniTicker('BTCUSDT', '5', clock.now()))
  t.equal(priceOf(), 3)
  t.match([feed.status().silences, latest.status('binance').lateTicks], [1, 4])
})

// docs/faults.md, 97
t.test(
  'a frame that cannot be read is told, and its price is taken from the next answer that has it',
  async t => {
    let asked = 0
    const { send, clock, ticks, missed, feed } = await openScripted(t, {
      protocol: { ...binanceProtocol, stallAfterMs: 3_600_000 },
      tradingPrices: async () => {
        asked += 1
        return new Map(asked === 1 ? [] : [['BTCUSDT', 3]])
      },
    })
    for (const frame of [miniTicker('BTCUSDT', '0', AT), miniTicker('BTCUSDT', '5', AT).slice(0, -9), '{'])
      await send(frame)
    t.strictSame(missed, ['BTCUSDT', 'BTCUSDT', undefined], 'any market may have been in "{"')
    t.equal(feed.status().malformed, 3)
    t.equal(asked, 0, 'a market that stays unreadable must not cause a request for each frame')
    await clock.advance(40_000)
    t.strictSame([asked, ticks], [1, []], 'an answer may lack a market')
    await clock.advance(15_000)
    t.strictSame([asked, ticks.map(({ origin, price }) => [origin, price])], [2, [['seed', 3]]])
  },
)
