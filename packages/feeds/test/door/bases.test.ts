import { KimchiError } from '@kimchi/core'
import { createMemoryLog, eventually, passUntil } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t, { type Test } from 'tap'
import { binanceProtocol } from '../../src/binance.ts'
import { type Want, Way } from '../../src/door/way.ts'
import { httpErrorOf, Unreachable } from '../../src/http-error.ts'
import { RestClient } from '../../src/rest/client.ts'
import { AT, createRest, openDoors, serve, simulate, watchFeed } from '../harness.ts'
import { miniTicker, scriptExchange } from '../scripted-exchange.ts'

const REGION = refused(451)
const NO_JSON = new KimchiError('KIMCHI_ERR_REST', 'HTTP 200, the response is no JSON')
const TIMEOUT = new Unreachable('KIMCHI_ERR_REST', 'no answer within 10000 ms')
const UNKNOWN_NAME = new Unreachable('KIMCHI_ERR_REST', 'getaddrinfo ENOTFOUND')

function refused(status: number) {
  return httpErrorOf('binance', 'GET /', status)
}

function open(...list: readonly string[]) {
  const log = createMemoryLog()
  const stop = new AbortController()
  const context = { log, signal: stop.signal, random: () => 0, clock: createManualClock(AT) }
  const options = { exchange: 'binance', of: 'rest', bases: list, limits: [] } as const
  return { log, stop, way: new Way(options, context) }
}

/** An HTTP server that keeps the headers of each request. */
async function serveStatus(t: Test, status: number, body = '{}') {
  const headers: NodeJS.Dict<string | string[]>[] = []
  const url = await serve(t, (request, response) => {
    headers.push(request.headers)
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  return { url, headers }
}

/** Asks bases of which each fails as the list says; one that is not in it answers with its name. */
function ask(way: Way, failures: Readonly<Record<string, Error>>, asked: string[] = [], want?: Want) {
  return way.request(async base => {
    asked.push(base)
    const failure = failures[base]
    if (failure !== undefined) throw failure
    return base
  }, want)
}

// docs/faults.md, 70
t.test('after any failure of its own the next base is used at once, and stays', async t => {
  for (const error of [REGION, refused(403), refused(503), refused(302), NO_JSON, TIMEOUT, UNKNOWN_NAME]) {
    const { way, log } = open('a', 'b')
    t.equal(await ask(way, { a: error }), 'b')
    t.equal(await ask(way, {}), 'b', 'a would work again, but b does')
    t.match(log.lines, [{ level: 'warn', fields: { base: 'b', left: { a: error.message } } }])
    t.equal(log.lines.length, 1, 'said once')
    t.match(way.status(), { inUse: 'b', index: 1, left: [{ base: 'a', reason: error.message }] })
    t.equal(await ask(way, { b: error }), 'a', 'round and round')
    t.match(way.status(), { inUse: 'a', index: 0, left: [{ base: 'b', reason: error.message }] })
  }
})

t.test('a refusal that another base would repeat moves nothing', async t => {
  for (const status of [429, 418, 400, 404]) {
    const { way } = open('a', 'b')
    const asked: string[] = []
    const answer = way.request(
      async base => {
        asked.push(base)
        throw refused(status)
      },
      { worthMs: 0 },
    )
    await t.rejects(answer, { message: new RegExp(`HTTP ${status}`) })
    t.strictSame(asked, ['a'])
    t.equal(way.status().inUse, 'a')
  }
})

// docs/faults.md, 70
t.test('a handshake that is answered with 400 or 404 has found no stream', async t => {
  for (const status of [400, 404]) {
    const error = httpErrorOf('binance', 'handshake', status)
    t.equal(await ask(open('a', 'b').way, { a: error }), 'b')
  }
})

t.test('a request asks each base once; only when all refuse the region that is the reason', async t => {
  const { way } = open('a', 'b', 'c')
  const asked: string[] = []
  await t.rejects(ask(way, { a: REGION, b: refused(503), c: REGION }, asked), { message: /HTTP 503/ })
  await t.rejects(ask(way, { a: refused(503), b: REGION, c: REGION }, asked), { message: /HTTP 503/ })
  const all = ask(way, { a: REGION, b: REGION, c: REGION }, asked, { worthMs: 0 })
  await t.rejects(all, { message: /HTTP 451/ })
  t.strictSame(asked.join(''), 'abcabcabc')
})

t.test('requests under way at the same base move on by one base together', async t => {
  const { way } = open('a', 'b', 'c')
  t.strictSame(await Promise.all([1, 2, 3].map(() => ask(way, { a: TIMEOUT }))), ['b', 'b', 'b'])
})

t.test('an aborted request moves nothing', async t => {
  const { way, stop } = open('a', 'b')
  const aborted = way.request(() => {
    stop.abort()
    return Promise.reject(TIMEOUT)
  })
  await t.rejects(aborted, TIMEOUT)
  t.equal(way.status().inUse, 'a')
})

// docs/faults.md, 100
t.test('a stream that breaks within a minute is a failure of its base', async t => {
  const [broken, well] = [await scriptExchange(t), await scriptExchange(t)]
  const protocol = { ...binanceProtocol, stallAfterMs: 3_600_000 }
  const { clock, feed } = watchFeed(t, { protocol, bases: [broken.url, well.url] })
  const bringUp = async ({ peers }: typeof well, count: number) => {
    await passUntil(clock, 'a connection', () => peers.length === count)
    peers[count - 1]?.socket.send(miniTicker('BTCUSDT', '5', clock.now()))
    await eventually('a frame', () => feed.status().state === 'up')
    return peers[count - 1]?.socket
  }
  const first = await bringUp(broken, 1)
  await clock.advance(59_000)
  first?.close()
  await eventually('its end', () => feed.status().state !== 'up')
  const second = await bringUp(well, 1)
  t.ok(clock.now() - AT < 62_000, 'the next one is tried at once')
  t.match(feed.status().base, { inUse: well.url, left: [{ base: broken.url, reason: /closed/ }] })
  await clock.advance(60_000)
  second?.close()
  await eventually('its end', () => feed.status().state !== 'up')
  await bringUp(well, 2)
  t.equal(broken.state.attempts, 1, 'one that was well for a minute stays')
})

// docs/faults.md, 70
t.test('a stream that connects but brings no data is left for the next base', async t => {
  const [silent, vision] = [await scriptExchange(t), await scriptExchange(t)]
  const { clock } = watchFeed(t, { protocol: binanceProtocol, bases: [silent.url, vision.url] })
  await eventually('the first base', () => silent.peers.length === 1)
  await passUntil(clock, 'the second base', () => vision.peers.length === 1)
  t.ok(clock.now() - AT <= 20_000, `${clock.now() - AT} ms`)
})

// docs/faults.md, 70
t.test('a 400 or 404 in HTML is no answer of an exchange, one in JSON is', async t => {
  for (const status of [400, 404]) {
    const page = await serveStatus(t, status, '<html>no such page</html>')
    const json = await serveStatus(t, status, '{"code":-1121,"msg":"Invalid symbol."}')
    const { binance } = openDoors({ rest: { upbit: [], binance: [page.url, json.url] } })
    const refused = binance.get('/x', answer => answer)
    await t.rejects(refused, { name: 'HttpError', message: new RegExp(`HTTP ${status}`) })
    t.equal(binance.status().rest.inUse, json.url)
  }
})

// docs/faults.md, 70
t.test('lists, candles and prices are asked for at the base in use', async t => {
  const simulator = await simulate(t)
  const blocked = await serveStatus(t, 451)
  const doors = openDoors({
    rest: { upbit: simulator.url, binance: [blocked.url, simulator.url] },
  })
  const rest = new RestClient(doors)
  const { binance } = await rest.fetchListings()
  t.ok(binance.length > 10)
  const noon = Date.UTC(2026, 10, 20, 12) / 60_000
  await rest.fetchCandles({ exchange: 'binance', market: 'BTCUSDT', count: 2, last: noon })
  await rest.fetchTradingPrices()
  t.equal(blocked.headers.length, 1)
  t.equal(doors.binance.status().rest.inUse, simulator.url)
})

t.test('every request has our name, no Origin, and no header of a browser', async t => {
  const server = await serveStatus(t, 503)
  const userAgent = 'kimchi-premium/1.2.3 (+https://x.test)'
  const rest = createRest(server.url, { userAgent })
  await t.rejects(rest.fetchTradingPrices())
  await t.rejects(rest.fetchListings())
  await t.rejects(rest.fetchCandles({ exchange: 'upbit', market: 'KRW-BTC', count: 1, last: 2 }))
  const exchange = await scriptExchange(t)
  watchFeed(t, { protocol: binanceProtocol, bases: exchange.url, userAgent })
  await eventually('the handshake', () => exchange.peers.length === 1)
  const all = [...server.headers, exchange.peers[0]?.request.headers ?? {}]
  t.ok(all.length >= 4)
  for (const headers of all) {
    t.equal(headers['user-agent'], userAgent)
    t.notOk('origin' in headers, JSON.stringify(headers))
    t.notMatch(JSON.stringify(headers), /Mozilla|Chrome|ccxt/)
  }
})
