import { eventually, passUntil } from '@kimchi/testkit'
import t from 'tap'
import { upbitProtocol } from '../../src/upbit.ts'
import { AT, watchFeed } from '../harness.ts'
import { scriptExchange, upbitTicker } from '../scripted-exchange.ts'

const REFUSAL = Buffer.from('{"error":{"name":"INVALID_PARAM","message":"no such code"}}')
const DATA = upbitTicker('KRW-GOOD', 5, AT)

// docs/faults.md, 60
t.test('a refused subscription loads the lists, and the next attempt takes what has changed', async t => {
  const exchange = await scriptExchange(t)
  let refusals = 0
  const { clock, feed, forgotten, log } = watchFeed(t, {
    protocol: upbitProtocol,
    bases: exchange.url,
    markets: ['KRW-GOOD', 'KRW-DEAD'],
    onRefused: () => {
      refusals += 1
    },
  })
  let refused = 0
  await passUntil(clock, 'six refusals', () => {
    const { socket, received } = exchange.peers[refused] ?? {}
    if (received?.length === 1) for (const frame of [DATA, REFUSAL]) socket?.send(frame)
    if (received?.length === 1) refused += 1
    return refusals === 6 && feed.status().state === 'waiting'
  })
  t.equal(refusals, 6, 'each refusal asks for the lists')
  const [line] = log.lines.filter(({ message }) => message.includes('refuses the subscription'))
  t.match(line, { message: /DENY=SYMBOL/, fields: { error: /no such code/ } })
  const waitedFrom = clock.now()
  feed.setMarkets(['KRW-GOOD'])
  await passUntil(clock, 'the next connection', () => exchange.peers[6]?.received.length === 1)
  t.ok(clock.now() - waitedFrom <= 30_000)
  t.notOk(exchange.peers[6]?.received[0]?.includes('KRW-DEAD'))
  exchange.peers[6]?.socket.send(DATA)
  await eventually('data', () => feed.status().state === 'up')
  t.strictSame(forgotten, ['KRW-DEAD'])
})

// docs/faults.md, 60
t.test('a general refusal leaves no market out: the feed comes back whole', async t => {
  const exchange = await scriptExchange(t)
  const { clock, feed } = watchFeed(t, {
    protocol: upbitProtocol,
    bases: exchange.url,
    markets: ['KRW-DOT'],
  })
  let answered = 0
  await passUntil(clock, 'up again', () => {
    const peer = exchange.peers[answered]
    if (peer?.received.length === 1) {
      answered += 1
      peer.socket.send(clock.now() < AT + 30_000 ? REFUSAL : upbitTicker('KRW-DOT', 5, AT))
    }
    return feed.status().state === 'up'
  })
  t.comment(`up ${(clock.now() - AT) / 1_000} s after the start, refused for 30 s`)
  t.ok(clock.now() - AT <= 180_000)
  t.ok(exchange.peers.at(-1)?.received[0]?.includes('KRW-DOT'))
})
