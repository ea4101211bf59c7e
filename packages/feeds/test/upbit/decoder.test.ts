import t from 'tap'
import { createUpbitDecoder } from '../../src/upbit/decoder.ts'
import { upbitProtocol } from '../../src/upbit/protocol.ts'

const NOW = 1_795_222_584_381
const AT = 1_795_222_583_731

// Made after the field table of docs/exchanges.md#upbit-websocket.
const FULL = {
  type: 'ticker',
  code: 'KRW-BTC',
  opening_price: 107_000_000.0,
  trade_price: 107_997_000.0,
  trade_timestamp: AT,
  timestamp: AT + 30,
  market_state: 'ACTIVE',
  is_trading_suspended: false,
  delisting_date: null,
  stream_type: 'REALTIME',
}
const SHORT = {
  ty: 'ticker',
  cd: 'KRW-BTC',
  tp: 107_997_000,
  ttms: AT,
  tms: AT + 30,
  ms: 'ACTIVE',
  its: false,
  st: 'REALTIME',
}
const TICK = {
  exchange: 'upbit',
  market: 'KRW-BTC',
  price: 107_997_000,
  eventAt: AT,
  receivedAt: NOW,
  origin: 'stream',
  tradedAt: AT,
  tradable: true,
}

function decode(frame: unknown, markets = ['KRW-BTC', 'KRW-ETH']) {
  const decoder = createUpbitDecoder()
  decoder.setMarkets(markets)
  const text = typeof frame === 'string' ? frame : JSON.stringify(frame)
  return decoder.decode(Buffer.from(text), NOW)
}

t.test('the same tick comes out of long and short names, binary and text', async t => {
  const expected = { kind: 'tick', tick: TICK }
  for (const frame of [FULL, SHORT]) t.strictSame(decode(frame), expected)
  const decoder = createUpbitDecoder()
  decoder.setMarkets(['KRW-BTC'])
  t.strictSame(decoder.decode(JSON.stringify(FULL), NOW), expected)
})

t.test(
  'a snapshot sets the price and proves no trade, and so does a frame without a stream type',
  async t => {
    const expected = { kind: 'tick', tick: { ...TICK, origin: 'snapshot', tradedAt: undefined } }
    t.strictSame(decode({ ...FULL, stream_type: 'SNAPSHOT' }), expected)
    t.strictSame(decode({ ...SHORT, st: 'SNAPSHOT' }), expected)
    const { stream_type: _, ...without } = FULL
    t.strictSame(decode(without), expected)
  },
)

t.test('a market in preview, delisted or suspended is not tradable; without a state it is', async t => {
  const tradable = (fields: object) => {
    const decoded = decode({ ...FULL, ...fields })
    return decoded.kind === 'tick' && decoded.tick.tradable
  }
  t.equal(tradable({ market_state: 'PREVIEW' }), false)
  t.equal(tradable({ market_state: 'DELISTED' }), false)
  t.equal(tradable({ is_trading_suspended: true }), false)
  t.equal(tradable({ market_state: undefined, is_trading_suspended: undefined }), true)
  t.match(decode({ ...SHORT, ms: 'PREVIEW' }), { tick: { tradable: false } })
  t.match(
    decode({ ...FULL, market_state: 'PREVIEW', trade_price: null }),
    { kind: 'ignored' },
    'nothing traded yet',
  )
})

t.test('answers and heartbeats are acks, complaints are errors', async t => {
  t.equal(decode({ status: 'UP' }).kind, 'ack')
  t.equal(decode({ method: 'LIST_SUBSCRIPTIONS', result: [], ticket: 'x' }).kind, 'ack')
  t.equal(decode({ mthd: 'LIST_SUBSCRIPTIONS', rslt: [], tckt: 'x' }).kind, 'ack')
  t.match(decode({ error: { name: 'NO_CODES', message: 'no codes' } }), {
    kind: 'error',
    message: /NO_CODES.*no codes/,
  })
  t.match(decode({ error: { name: 404, message: { deep: [] } } }), { kind: 'error', message: /404/ })
})

t.test('other channels and markets that are not subscribed are ignored', async t => {
  t.equal(decode({ ...FULL, type: 'trade' }).kind, 'ignored')
  t.equal(decode({ ...FULL, code: 'KRW-DOGE' }).kind, 'ignored')
  t.equal(decode({ ...FULL, code: '__proto__' }).kind, 'ignored')
  t.equal(decode({ ...FULL, code: 'constructor' }).kind, 'ignored')
  t.equal(decode({}).kind, 'ignored')
})

t.test('what breaks the documents is dropped, and named', async t => {
  for (const price of [0, -1, null, '107997000', 1e308, undefined, [], true]) {
    t.match(
      decode({ ...FULL, trade_price: price }),
      { kind: 'malformed', reason: /KRW-BTC trade_price/ },
      String(price),
    )
  }
  for (const at of [0, -1, null, String(AT), AT * 1_000, AT / 1_000, AT + 0.5, undefined]) {
    t.match(
      decode({ ...FULL, trade_timestamp: at }),
      { kind: 'malformed', reason: /trade_timestamp/ },
      String(at),
    )
  }
  t.match(decode({ ...FULL, code: 5 }), { kind: 'malformed', reason: /code/ })
  for (const text of ['', 'x', '{"type":"ticker"', '"ticker"', '5', 'null', '[5]', '[{}]']) {
    t.equal(decode(text).kind, 'malformed', text)
  }
  const decoder = createUpbitDecoder()
  t.equal(
    decoder.decode(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), NOW).kind,
    'malformed',
    'no UTF-8',
  )
})

t.test('keys that look like a prototype change nothing', async t => {
  const text = JSON.stringify(FULL).replace('{', '{"__proto__":{"trade_price":1,"polluted":true},')
  t.match(decode(text), { kind: 'tick', tick: TICK })
  t.equal(({} as Record<string, unknown>).polluted, undefined)
})

t.test('the subscription is one message with the complete list, in DEFAULT format', async t => {
  const messages = upbitProtocol().subscribe(['KRW-XRP'], ['KRW-BTC', 'KRW-ETH'], 35)
  t.strictSame(
    messages.map(message => JSON.parse(message)),
    [[{ ticket: 'kimchi-z' }, { type: 'ticker', codes: ['KRW-BTC', 'KRW-ETH'] }, { format: 'DEFAULT' }]],
  )
})
