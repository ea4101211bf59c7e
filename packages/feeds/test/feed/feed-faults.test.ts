import { createServer } from 'node:http'
import { eventually, listen, passUntil } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { binanceProtocol } from '../../src/binance.ts'
import type { Protocol } from '../../src/feed/protocol.ts'
import { upbitProtocol } from '../../src/upbit.ts'
import { AT, openScripted, watchFeed } from '../harness.ts'
import { miniTicker, refuseWith, scriptExchange, untilRead, upbitTicker } from '../scripted-exchange.ts'

/** One data frame of the protocol's exchange. */
function frameOf({ exchange }: Protocol, price = 5): string | Buffer {
  return exchange === 'upbit' ? upbitTicker('KRW-BTC', price, AT) : miniTicker('BTCUSDT', String(price), AT)
}

async function open(t: Test, protocol: Protocol, changes: Partial<Protocol> = {}) {
  const scripted = await openScripted(t, { protocol: { ...protocol, ...changes } })
  const bringUp = async (count = 1): Promise<void> => {
    await eventually(`connection ${count}`, () => scripted.exchange.peers.length === count)
    await scripted.send(frameOf(protocol), count - 1)
  }
  return { bringUp, ...scripted }
}

for (const [protocol, limitMs] of [
  [upbitProtocol, 30_000],
  [binanceProtocol, 15_000],
] as const) {
  const name = protocol.exchange

  // docs/faults.md, 14
  t.test(
    `${name}: an open connection that answers pings but brings no data is replaced within ${limitMs / 1_000} s`,
    async t => {
      const { exchange, bringUp, clock, interruptions, feed, ticks } = await open(t, protocol)
      await bringUp()
      const peer = exchange.peers[0]
      for (let acks = 0; acks < 3; acks++) {
        await clock.advance(limitMs * 0.3)
        peer?.socket.send(name === 'upbit' ? '{"status":"UP"}' : '{"result":null,"id":1}')
        await untilRead(peer)
      }
      t.equal(exchange.state.attempts, 1, 'not yet')
      await clock.advance(limitMs * 0.1)
      await eventually('the next connection', () => exchange.state.attempts === 2)
      t.match(feed.status(), { lastError: { message: /no data for/ } })
      await bringUp(2)
      t.equal(interruptions.length, 2)
      t.match(feed.status(), { state: 'up', reconnects: 1 })
      t.equal(ticks.length, 2)
      await eventually('the dead socket is gone', () => exchange.sockets.size === 1)
    },
  )
}

// docs/faults.md, 71
t.test('Upbit: pings go out, and a stream whose pongs are missing lives on', async t => {
  const exchange = await scriptExchange(t, false)
  const { clock, feed, ticks } = watchFeed(t, { protocol: upbitProtocol, bases: exchange.url })
  await eventually('the subscription', () => exchange.peers[0]?.received.length === 1)
  let pings = 0
  exchange.peers[0]?.socket.on('ping', () => {
    pings += 1
  })
  for (let second = 2; second <= 120; second += 2) {
    await clock.advance(2_000)
    exchange.peers[0]?.socket.send(upbitTicker('KRW-BTC', second, AT))
    await eventually('the tick', () => ticks.at(-1)?.price === second)
  }
  await eventually('the pings', () => pings === 6)
  t.match(feed.status(), { state: 'up', reconnects: 0, lastError: undefined })
})

t.test('a handshake that hangs is given up after 10 s', async t => {
  const exchange = await scriptExchange(t)
  exchange.state.upgrade = (_socket, attempt) => attempt === 1
  const { clock, feed } = watchFeed(t, { protocol: upbitProtocol, bases: exchange.url })
  await eventually('the handshake', () => exchange.state.attempts === 1)
  await clock.advance(10_000)
  await eventually('the retry', () => feed.status().state === 'waiting')
  t.match(feed.status().lastError, { message: /handshake: no answer within 10000 ms/ })
  await clock.advance(500)
  await eventually('the next one', () => exchange.peers.length === 1)
})

t.test('a wall clock that steps by an hour neither ends a live connection nor hides a dead one', async t => {
  const { exchange, bringUp, clock, ticks, feed } = await open(t, binanceProtocol)
  await bringUp()
  clock.step(3_600_000)
  await clock.advance(10_000)
  exchange.peers[0]?.socket.send(frameOf(binanceProtocol, 6))
  await eventually('the tick', () => ticks.length === 2)
  t.equal(feed.status().state, 'up')
  clock.step(-3_600_000)
  await clock.advance(15_000)
  t.match(feed.status().lastError, { message: /no data for/ })
})

for (const [status, headers, state, delayMs] of [
  ['429 Too Many Requests', 'Retry-After: 7\r\n', 'waiting', 7_000],
  ['418 Banned', '', 'blocked', 300_000],
  ['451 Unavailable', '', 'blocked', 600_000],
  ['503 Service Unavailable', '', 'waiting', 375],
] as const) {
  t.test(`${status} ${headers.trim()} waits ${delayMs} ms and then tries again`, async t => {
    const exchange = await scriptExchange(t)
    exchange.state.upgrade = refuseWith(status, headers)
    const { clock, feed, log } = watchFeed(t, { protocol: binanceProtocol, bases: exchange.url })
    await eventually('the refusal', () => feed.status().state === state)
    t.match(feed.status().lastError, { message: new RegExp(`HTTP ${status.slice(0, 3)}`) })
    await clock.advance(delayMs * 0.99)
    t.equal(exchange.state.attempts, 1, 'not before its time')
    await clock.advance(delayMs * 0.01 + Math.min(delayMs * 0.06, 16_000))
    await eventually('the next attempt', () => exchange.state.attempts === 2)
    if (!status.startsWith('451')) return
    t.match(feed.status().lastError, { message: /data-stream\.binance\.vision/ })
    const fields = { code: 'KIMCHI_ERR_GEO_BLOCKED', error: /data-stream.*BINANCE_WS_URL/ }
    t.match(log.lines, [{ level: 'error', fields }])
  })
}

// docs/faults.md, 17
t.test('refused connections back off, doubling, without a storm', async t => {
  const { clock, feed, log } = watchFeed(t, { protocol: upbitProtocol, bases: 'ws://127.0.0.1:9' })
  const delays: number[] = []
  for (let failures = 0; failures < 9; failures++) {
    await eventually('a failure', () => log.lines.length > failures)
    delays.push(Number(log.lines[failures]?.fields.delayMs))
    await clock.advance(30_000)
  }
  t.strictSame(delays, [375, 750, 1_500, 3_000, 6_000, 12_000, 22_500, 22_500, 22_500])
  t.match(feed.status(), { lastDataAt: undefined, lastError: { message: /^upbit/ } })
  t.equal(
    log.lines.slice(0, 9).filter(({ level }) => level === 'warn').length,
    1,
    'the next line comes at the tenth failure',
  )
})

t.test(
  'failures are forgotten after a minute of healthy data, not on opening or at the first frame',
  async t => {
    const { exchange, bringUp, clock, log } = await open(t, binanceProtocol)
    const delays = () =>
      log.lines.map(({ fields }) => fields.delayMs).filter(delayMs => delayMs !== undefined)
    for (let i = 0; i < 3; i++) {
      await eventually('a connection', () => exchange.peers.length === i + 1)
      exchange.peers[i]?.socket.send(i === 0 ? '{"result":null,"id":1}' : frameOf(binanceProtocol))
      exchange.peers[i]?.socket.close()
      await eventually('its end', () => delays().length === i + 1)
      await clock.advance(10_000)
    }
    t.strictSame(delays(), [375, 750, 1_500])
    for (const [stepMs, expected, why] of [
      [9_999, 3_000, 'six milliseconds short of a minute'],
      [10_000, 375, 'a minute'],
    ] as const) {
      const count = delays().length + 1
      await bringUp(count)
      for (let ticks = 0; ticks < 6; ticks++) {
        await clock.advance(stepMs)
        await bringUp(count)
      }
      exchange.peers[count - 1]?.socket.close()
      await eventually('its end', () => delays().length === count)
      t.equal(delays().at(-1), expected, why)
      await clock.advance(10_000)
    }
  },
)

// docs/faults.md, 18
t.test('an announced end opens the next connection first, where it costs no minute', async t => {
  const { exchange, bringUp, clock, feed, ticks, interruptions } = await open(t, binanceProtocol)
  for (let tick = 0; tick < 30; tick++) {
    await bringUp()
    await clock.advance(2_000)
  }
  exchange.peers[0]?.socket.send(
    '{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1795222584015}}',
  )
  await passUntil(clock, 'nearly ten seconds', () => clock.now() - AT >= 69_750)
  t.equal(exchange.state.attempts, 1)
  await clock.advance(70_000 - (clock.now() - AT))
  await eventually('the successor, ten seconds after the minute', () => exchange.peers.length === 2)
  exchange.peers[0]?.socket.send(miniTicker('BTCUSDT', '6', AT))
  await eventually('a tick of the old one', () => ticks.at(-1)?.price === 6)
  const openedAt = clock.now()
  await clock.advance(1_000)
  await bringUp(2)
  await eventually('the old one is closed', () => exchange.peers[0]?.socket.readyState === 3)
  t.match(interruptions.slice(1), [{}, { pricesFrom: openedAt }])
  t.match(feed.status(), { state: 'up', reconnects: 0, lastError: undefined })
})

t.test(
  'while no successor can be opened the old connection goes on; when it dies too, that is an interruption',
  async t => {
    const watched = await open(t, binanceProtocol, { maxAgeMs: 2_000 })
    const { exchange, bringUp, clock, feed, ticks, interruptions } = watched
    await bringUp()
    exchange.state.upgrade = refuseWith('503 Service Unavailable')
    await clock.advance(2_000)
    await passUntil(clock, 'a refused successor', () => feed.status().lastError !== undefined)
    exchange.peers[0]?.socket.send(frameOf(binanceProtocol, 7))
    await eventually('the old one goes on', () => ticks.at(-1)?.price === 7)
    t.equal(feed.status().state, 'up')
    const before = interruptions.length
    exchange.peers[0]?.socket.close(1001)
    await eventually('its end', () => feed.status().state !== 'up')
    exchange.state.upgrade = undefined
    await passUntil(clock, 'the next connection', () => exchange.peers.length === 2)
    await bringUp(2)
    t.equal(interruptions.length, before + 1)
    t.match(feed.status(), { state: 'up', reconnects: 1 })
  },
)

// docs/faults.md, 16
t.test('garbage is dropped and counted, the log stays short, and good frames go on', async t => {
  const { exchange, bringUp, feed, ticks, log } = await open(t, binanceProtocol)
  await bringUp()
  const socket = exchange.peers[0]?.socket
  const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`
  const garbage = [
    '',
    '{',
    '\u0000\u0001',
    deep,
    `{"stream":"x","data":${deep}}`,
    Buffer.from([0xff, 0xfe, 0xfd]),
  ]
  const expected = garbage.length + 200
  for (const frame of garbage) socket?.send(frame, { binary: false })
  for (let i = 0; i < 200; i++) socket?.send(miniTicker('BTCUSDT', '0.00000000', AT))
  await eventually('all of it', () => feed.status().malformed === expected)
  socket?.send(frameOf(binanceProtocol, 9))
  await eventually('the good one', () => ticks.at(-1)?.price === 9)
  t.equal(exchange.state.attempts, 1)
  t.equal(
    log.lines.filter(({ message }) => message === 'dropped a malformed frame').length,
    3,
    '1st, 10th, 100th',
  )
  t.match(feed.status().lastError, { message: /BTCUSDT c is not plausible/ })
})

// docs/faults.md, 16
t.test('a frame beyond the limit ends the connection, not the feed', async t => {
  const { exchange, bringUp, clock, feed } = await open(t, upbitProtocol)
  await bringUp()
  exchange.peers[0]?.socket.send(Buffer.alloc(2_000_000, 0x20))
  await eventually('the end', () => feed.status().malformed === 1)
  await clock.advance(1_000)
  await bringUp(2)
  t.match(feed.status(), { state: 'up', reconnects: 1, lastError: { message: /Max payload size/ } })
})

// docs/faults.md, 16
t.test('a deflate bomb is not unpacked: the client never offers compression', async t => {
  const http = createServer()
  const server = new WebSocketServer({ server: http, perMessageDeflate: true })
  const extensions: string[] = []
  server.on('connection', (socket, request) => {
    extensions.push(String(request.headers['sec-websocket-extensions']))
    socket.on('error', () => {})
    // A compressed frame although nothing was negotiated: final, RSV1, text, two bytes.
    request.socket.write(Buffer.from([0xc1, 0x02, 0x4b, 0x00]))
  })
  const bases = `ws://127.0.0.1:${await listen(t, http)}`
  const { feed } = watchFeed(t, { protocol: binanceProtocol, bases })
  await eventually('the end', () => feed.status().malformed === 1)
  t.equal(extensions[0], 'undefined')
  t.match(feed.status().lastError, { message: /RSV1/ })
})
