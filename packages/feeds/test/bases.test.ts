import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createManualClock } from '@kimchi/core/testing'
import t, { type Test } from 'tap'
import { Bases, createRestBases } from '../src/bases.ts'
import { binanceProtocol } from '../src/binance/protocol.ts'
import { httpErrorOf, UnreachedError } from '../src/feed/http-error.ts'
import { getJson, userAgentOf } from '../src/http.ts'
import { openRestChild } from '../src/rest/client.ts'
import { AT, memoryLog, passUntil, simulate, until, watchFeed } from './harness.ts'
import { miniTicker, refuseWith, scriptExchange } from './scripted-exchange.ts'

const ENTRY = new URL('../dist/rest/child.js', import.meta.url)
const REGION = refused(451)
const HOST = new UnreachedError('KIMCHI_ERR_REST', 'connect ECONNREFUSED', false)
const NAME = new UnreachedError('KIMCHI_ERR_REST', 'getaddrinfo ENOTFOUND', true)

function refused(status: number) {
  return httpErrorOf({ exchange: 'binance', what: 'GET /', status, retryAfterMs: undefined })
}

function open(...list: readonly string[]) {
  const clock = createManualClock(AT)
  const log = memoryLog()
  return { clock, log, bases: new Bases('binance', 'rest', list, { clock, log }) }
}

/** An HTTP server that keeps the headers of each request. */
async function serve(t: Test, status: number, body = '{}') {
  const headers: NodeJS.Dict<string | string[]>[] = []
  const server = createServer((request, response) => {
    headers.push(request.headers)
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, headers }
}

t.test('70. after a refused region or an unknown name the next base is used at once', async t => {
  for (const error of [REGION, NAME]) {
    const { bases, log } = open('a', 'b')
    t.equal(bases.failed('a', error), true)
    t.equal(bases.next(), 'b')
    bases.worked('b')
    bases.worked('b')
    t.match(log.lines, [{ level: 'warn', fields: { base: 'b', left: { a: error.message } } }], 'logged once')
    t.equal(log.lines.length, 1)
    t.match(bases.status(), { inUse: 'b', place: 1, left: [{ base: 'a', reason: error.message }] })
  }
})

t.test('70. a base that cannot be reached is left after three failures in a row', async t => {
  const { bases } = open('a', 'b')
  t.strictSame([bases.failed('a', HOST), bases.failed('a', HOST)], [false, false])
  bases.worked('a')
  t.strictSame([bases.failed('a', HOST), bases.failed('a', HOST)], [false, false])
  t.equal(bases.failed('a', refused(503)), false, 'it answered, so the count begins again')
  t.strictSame(
    [HOST, HOST, HOST].map(error => bases.failed('a', error)),
    [false, false, true],
  )
  t.equal(bases.next(), 'b')
})

t.test('when every base has refused, the caller waits, and the next round begins at the first', async t => {
  const { bases } = open('a', 'b', 'c')
  t.strictSame(
    ['a', 'b', 'c'].map(base => bases.failed(base, REGION)),
    [true, true, false],
  )
  t.equal(bases.next(), 'a')
  t.strictSame(
    ['a', 'b', 'c'].map(base => bases.failed(base, REGION)),
    [true, true, false],
  )
  t.equal(open('a').bases.failed('a', REGION), false, 'there is no other base')
})

t.test('70. the first base is tried again by one request an hour, and stays when it works', async t => {
  const { bases, clock, log } = open('a', 'b')
  bases.failed('a', REGION)
  bases.worked(bases.next())
  await clock.advance(3_599_000)
  t.equal(bases.next(), 'b')
  await clock.advance(1_000)
  t.strictSame([bases.next(), bases.next(), bases.next()], ['a', 'b', 'b'])
  t.equal(bases.failed('a', REGION), true, 'the request is repeated at the base in use')
  t.equal(bases.status().inUse, 'b')
  await clock.advance(3_600_000)
  bases.worked(bases.next())
  t.equal(bases.next(), 'a')
  t.match(log.lines.at(-1), { message: 'back at the first base' })
})

t.test('a request under way when its base was left is repeated at the base in use', async t => {
  const { bases } = open('a', 'b')
  t.strictSame([bases.failed('a', REGION), bases.failed('a', REGION)], [true, true])
  t.equal(bases.next(), 'b')
})

t.test(
  '70. Binance’s stream moves to the next base at once, and back only when it is replaced anyway',
  async t => {
    const [front, vision] = [await scriptExchange(t), await scriptExchange(t)]
    front.state.upgrade = refuseWith('451 Unavailable')
    const { clock, feed, log } = watchFeed(t, { protocol: binanceProtocol([front.url, vision.url]) })
    await passUntil(clock, 'the second base', () => vision.peers.length === 1)
    t.ok(clock.now() - AT < 5_000, `${clock.now() - AT} ms`)
    const send = async (frame: string) => {
      const { frames } = feed.status()
      vision.peers[0]?.socket.send(frame)
      await until('the frame', () => feed.status().frames > frames)
    }
    for (let second = 0; second < 62; second += 2) {
      await send(miniTicker('BTCUSDT', '5', clock.now()))
      await clock.advance(2_000)
    }
    t.match(feed.status(), { state: 'up', base: { inUse: vision.url, place: 1 } })
    t.equal(log.lines.filter(({ message }) => message === 'another base is in use').length, 1)
    front.state.upgrade = undefined
    clock.step(3_600_000)
    await send(miniTicker('BTCUSDT', '5', clock.now()))
    await clock.advance(10_000)
    t.equal(front.state.attempts, 1, 'no connection is closed for it')
    await send('{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1795222584015}}')
    await passUntil(clock, 'the replacement', () => front.peers[0]?.received.length === 1)
    front.peers[0]?.socket.send(miniTicker('BTCUSDT', '6', clock.now()))
    await until('it is back', () => feed.status().base.place === 0)
  },
)

t.test('70. the REST child asks the base in use', async t => {
  const simulator = await simulate(t)
  const blocked = await serve(t, 451)
  const context = { clock: createManualClock(AT), log: memoryLog() }
  const bases = createRestBases(simulator.upbitRestUrl, [blocked.url, simulator.binanceRestUrl], context)
  const child = openRestChild(
    { bases, userAgent: 'kimchi-premium/9 (+https://x.test)', entry: ENTRY },
    context,
  )
  t.teardown(() => child.close())
  const { binance } = await child.loadListings()
  t.ok(binance.markets.length > 10)
  const noon = Date.UTC(2026, 10, 20, 12) / 60_000
  await child.candlePage({ exchange: 'binance', market: 'BTCUSDT', from: noon - 2, to: noon })
  t.equal(blocked.headers.length, 1)
  t.equal(bases.binance.status().inUse, simulator.binanceRestUrl)
})

t.test('candles of the wrong shape are an error, not a time without trades', async t => {
  const { url } = await serve(t, 200, '{}')
  const context = { clock: createManualClock(AT), log: memoryLog() }
  const child = openRestChild({ bases: createRestBases(url, url, context), entry: ENTRY }, context)
  t.teardown(() => child.close())
  for (const [exchange, market] of [
    ['upbit', 'KRW-BTC'],
    ['binance', 'BTCUSDT'],
  ] as const) {
    await t.rejects(child.candlePage({ exchange, market, from: 1, to: 2 }), { code: 'KIMCHI_ERR_REST' })
  }
})

t.test('every request has our name, no Origin, and no header of a browser', async t => {
  const server = await serve(t, 503)
  const clock = createManualClock(AT)
  const log = memoryLog()
  const userAgent = userAgentOf('1.2.3', 'https://x.test')
  await t.rejects(getJson(`${server.url}/a`, { exchange: 'binance', userAgent }, clock))
  const bases = createRestBases(server.url, server.url, { clock, log })
  const child = openRestChild({ bases, userAgent, entry: ENTRY }, { log })
  t.teardown(() => child.close())
  await t.rejects(child.loadListings())
  await t.rejects(child.candlePage({ exchange: 'upbit', market: 'KRW-BTC', from: 1, to: 2 }))
  const exchange = await scriptExchange(t)
  watchFeed(t, { protocol: binanceProtocol(exchange.url), userAgent })
  await until('the handshake', () => exchange.peers.length === 1)
  const all = [...server.headers, exchange.peers[0]?.request.headers ?? {}]
  t.ok(all.length >= 4)
  for (const headers of all) {
    t.equal(headers['user-agent'], 'kimchi-premium/1.2.3 (+https://x.test)')
    t.notOk('origin' in headers, JSON.stringify(headers))
    t.notMatch(JSON.stringify(headers), /Mozilla|Chrome|ccxt/)
  }
  t.equal(userAgentOf('1.2.3', ''), 'kimchi-premium/1.2.3')
})
