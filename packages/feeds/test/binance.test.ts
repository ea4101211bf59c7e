import t from 'tap'
import { binanceProtocol, createBinanceDecoder } from '../src/binance.ts'
import { DEFAULT_BASES } from '../src/door/door.ts'

const NOW = 1_795_222_584_381
const E = 1_795_222_584_015

// Made after docs/exchanges.md#binance-websocket.
const MINI = {
  e: '24hrMiniTicker',
  E,
  s: 'BTCUSDT',
  c: '64117.99000000',
  o: '64330.60',
  h: '64500.0',
  l: '63238',
  v: '1',
  q: '2',
}
const TICK = {
  exchange: 'binance',
  market: 'BTCUSDT',
  price: 64_117.99,
  eventAt: E,
  sentAt: E,
  receivedAt: NOW,
  origin: 'stream',
  tradedAt: undefined,
  tradable: undefined,
}

function open(markets = ['BTCUSDT', 'ETHUSDT']) {
  const decoder = createBinanceDecoder(markets)
  const decode = (frame: unknown) => {
    const text = typeof frame === 'string' ? frame : JSON.stringify(frame)
    return decoder(Buffer.from(text), NOW)
  }
  return { decode }
}

t.test('raw and combined frames give the same tick', async t => {
  const expected = { kind: 'tick', tick: TICK }
  t.strictSame(open().decode(MINI), expected)
  t.strictSame(open().decode({ stream: 'btcusdt@miniTicker', data: MINI }), expected)
})

t.test('a changed price or a risen volume proves a trade, nothing else does', async t => {
  const { decode } = open()
  let second = 0
  for (const [what, changes, isTrade] of [
    ['the first frame', {}, false],
    ['the same again', {}, false],
    ['another price', { c: '64118.00' }, true],
    ['the same in other digits', { c: '64118.0000' }, false],
    ['the volume rose', { c: '64118', v: '1.00000001' }, true],
    ['the volume fell', { c: '64118', v: '0.9' }, false],
    ['no volume', { c: '64118', v: undefined }, false],
    ['after a frame without a volume', { c: '64118', v: '5' }, false],
  ] as const) {
    const at = E + second++ * 1_000
    t.match(decode({ ...MINI, E: at, ...changes }), { tick: { tradedAt: isTrade ? at : undefined } }, what)
  }
})

t.test('a raw or combined announcement of the end is a shutdown', async t => {
  t.equal(open().decode({ e: 'serverShutdown', E }).kind, 'shutdown')
  t.equal(open().decode({ stream: '!serverShutdown', data: { e: 'serverShutdown', E } }).kind, 'shutdown')
})

t.test('answers are acks, and both kinds of error message are errors', async t => {
  t.equal(open().decode({ result: null, id: 1 }).kind, 'ack')
  t.equal(open().decode({ result: ['btcusdt@miniTicker'], id: 3 }).kind, 'ack')
  t.match(open().decode({ error: { code: 2, msg: 'Invalid request' }, id: 1 }), {
    kind: 'error',
    message: /2.*Invalid request/,
  })
  t.match(open().decode({ code: 3, msg: 'Invalid JSON' }), { kind: 'error', message: /3.*Invalid JSON/ })
})

t.test('other channels and markets that are not subscribed are ignored', async t => {
  const { decode } = open()
  for (const frame of [
    ...['trade', '24hrTicker', 'depthUpdate', 'kline'].map(e => ({ ...MINI, e })),
    ...['DOGEUSDT', '币安人生USDT', '__proto__'].map(s => ({ ...MINI, s })),
    // A bookTicker.
    { u: 1, s: 'BTCUSDT', b: '1', B: '1', a: '1', A: '1' },
  ])
    t.equal(decode(frame).kind, 'ignored', JSON.stringify(frame))
})

t.test('a value that is not as documented is dropped, and named', async t => {
  const { decode } = open()
  const prices = ['0.00000000', '-1', '', '1e5', ' 1', '1,5', '.5', '5.', '9'.repeat(41)]
  for (const c of [...prices, 64_117.99, null, undefined, ['1'], `1${'0'.repeat(30)}`]) {
    t.match(decode({ ...MINI, c }), { kind: 'malformed', reason: /BTCUSDT c/ }, String(c))
  }
  for (const at of [String(E), E * 1_000, 0, null, E + 0.5]) {
    t.match(decode({ ...MINI, E: at }), { kind: 'malformed', reason: /BTCUSDT E/ }, String(at))
  }
  t.match(decode({ ...MINI, s: 5 }), { kind: 'malformed' })
  t.match(decode({ stream: 'x', data: 'text' }), { kind: 'malformed' })
  for (const text of ['', '{', '"x"', 'null', '7', '[null]']) t.equal(decode(text).kind, 'malformed', text)
})

// docs/faults.md, 97
t.test('a frame that cannot be read names its market, where that is one of ours', async t => {
  const marketOf = (frame: unknown) => {
    const decoded = open().decode(frame)
    return decoded.kind === 'malformed' ? (decoded.market ?? 'none') : decoded.kind
  }
  const combined = { stream: 'btcusdt@miniTicker', data: MINI }
  t.equal(marketOf({ ...MINI, c: null }), 'BTCUSDT')
  t.equal(marketOf({ ...MINI, E: null }), 'BTCUSDT')
  t.equal(marketOf(JSON.stringify(combined).slice(0, -10)), 'BTCUSDT')
  t.equal(marketOf(JSON.stringify(combined).slice(0, 40)), 'BTCUSDT', 'the stream alone is left')
  t.equal(marketOf({ ...combined, data: null }), 'BTCUSDT')
  t.equal(marketOf(JSON.stringify({ ...MINI, s: 'DOGEUSDT' }).slice(0, -10)), 'none')
  const broken = JSON.stringify({ ...combined, stream: 'b?tcusdt@miniTicker' }).slice(0, -10)
  t.equal(marketOf(broken), 'BTCUSDT', 'its second name can be read')
})

t.test('a long list is subscribed in parts', async t => {
  const many = Array.from({ length: 700 }, (_, i) => `C${i}USDT`)
  const messages = binanceProtocol.subscribe(many, 9).map(text => JSON.parse(text))
  t.match(messages[1], { method: 'SUBSCRIBE', params: ['c300usdt@miniTicker'], id: 309 })
  t.strictSame(
    messages.map(({ params }) => params.length),
    [300, 300, 100],
  )
})

t.test('the address of each base is its combined stream', async t => {
  t.strictSame(DEFAULT_BASES.BINANCE_WS_URL.map(binanceProtocol.urlOf), [
    'wss://stream.binance.com:9443/stream',
    'wss://data-stream.binance.vision/stream',
  ])
})
