import t from 'tap'
import { createUpbitDecoder, upbitProtocol } from '../src/upbit.ts'

const NOW = 1_795_222_584_381
const AT = 1_795_222_583_731

// Made after the field table of docs/exchanges.md#upbit-websocket.
const FRAME = {
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
const TICK = {
  exchange: 'upbit',
  market: 'KRW-BTC',
  price: 107_997_000,
  eventAt: AT,
  sentAt: AT + 30,
  receivedAt: NOW,
  origin: 'stream',
  tradedAt: AT,
  tradable: true,
}

function decode(frame: unknown, markets = ['KRW-BTC', 'KRW-ETH']) {
  const text = typeof frame === 'string' ? frame : JSON.stringify(frame)
  return createUpbitDecoder(markets)(Buffer.from(text), NOW)
}

function tickOf(changes: object) {
  const decoded = decode({ ...FRAME, ...changes })
  return decoded.kind === 'tick' ? decoded.tick : undefined
}

t.test('a frame without a stream type counts as a snapshot', async t => {
  const expected = { ...TICK, origin: 'snapshot' }
  t.strictSame(tickOf({ stream_type: 'SNAPSHOT' }), expected)
  t.strictSame(tickOf({ stream_type: undefined }), expected)
})

t.test('a missing or broken send time does not cost the tick', async t => {
  for (const timestamp of [undefined, null, 'x', 5])
    t.strictSame(tickOf({ timestamp }), { ...TICK, sentAt: undefined })
})

t.test(
  'a market does not trade where a field says so in a documented value; a trade shows that it does',
  async t => {
    for (const [changes, tradable] of [
      [{ market_state: 'PREVIEW' }, false],
      [{ market_state: 'DELISTED' }, false],
      [{ is_trading_suspended: true }, false],
      [{ market_state: undefined, is_trading_suspended: true }, false],
      [{ market_state: undefined }, true],
      [{ is_trading_suspended: undefined }, true],
      [{ market_state: null, is_trading_suspended: null }, true],
      [{ market_state: undefined, is_trading_suspended: undefined }, true],
      [{ market_state: undefined, is_trading_suspended: undefined, stream_type: 'SNAPSHOT' }, undefined],
      // Not documented.
      [{ market_state: 'CAUTION' }, true],
      [{ market_state: 'CAUTION', stream_type: 'SNAPSHOT' }, true],
      [{ market_state: 'CAUTION', is_trading_suspended: true }, false],
    ] as const) {
      t.equal(tickOf(changes)?.tradable, tradable, JSON.stringify(changes))
    }
  },
)

t.test('all else is ignored, and a market without a last trade while it does not trade', async t => {
  for (const frame of [
    { status: 'UP' },
    { method: 'LIST_SUBSCRIPTIONS', result: [], ticket: 'x' },
    { ...FRAME, type: 'trade' },
    ...['KRW-DOGE', '__proto__', 'constructor'].map(code => ({ ...FRAME, code })),
    {},
    { ...FRAME, market_state: 'PREVIEW', trade_price: null },
    { ...FRAME, is_trading_suspended: true, trade_timestamp: 0, stream_type: 'SNAPSHOT' },
  ])
    t.equal(decode(frame).kind, 'ignored', JSON.stringify(frame))
})

t.test('a value that is not as documented is dropped, and named', async t => {
  const reasonOf = (changes: object) => {
    const decoded = decode({ ...FRAME, ...changes })
    return decoded.kind === 'malformed' ? decoded.reason : decoded.kind
  }
  for (const price of [0, -1, null, '107997000', 1e308, undefined, [], true])
    t.match(reasonOf({ trade_price: price }), /KRW-BTC trade_price/, String(price))
  for (const at of [0, -1, null, String(AT), AT * 1_000, AT / 1_000, AT + 0.5, undefined])
    t.match(reasonOf({ trade_timestamp: at }), /trade_timestamp/, String(at))
  t.match(reasonOf({ code: 5 }), /code/)
  for (const text of ['', 'x', '{"type":"ticker"', '"ticker"', '5', 'null', '[5]', '[{},{}]'])
    t.equal(decode(text).kind, 'malformed', text)
  const noUtf8 = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])
  t.equal(createUpbitDecoder([])(noUtf8, NOW).kind, 'malformed')
})

// docs/faults.md, 97
t.test('a frame that cannot be read or placed names its market, where that is one of ours', async t => {
  const marketOf = (frame: unknown) => {
    const decoded = decode(frame)
    return decoded.kind === 'malformed' ? (decoded.market ?? 'none') : decoded.kind
  }
  const text = JSON.stringify(FRAME)
  t.equal(marketOf({ ...FRAME, trade_price: null }), 'KRW-BTC')
  t.equal(marketOf({ ...FRAME, trade_timestamp: null }), 'KRW-BTC')
  t.equal(marketOf(text.slice(0, -20)), 'KRW-BTC')
  t.equal(marketOf(`[${text}]`), 'KRW-BTC', 'a list, which we do not ask for')
  t.equal(marketOf(text.slice(0, -20).replace('KRW-BTC', 'KRW-DOGE')), 'none')
  t.equal(marketOf(text.slice(0, 10)), 'none')
  t.equal(marketOf({ ...FRAME, trade_timestamp: AT + 31 }), 'KRW-BTC', 'a trade after its own frame')
  t.equal(marketOf({ ...FRAME, trade_timestamp: AT + 30 }), 'tick')
})

t.test('the subscription is one message with the complete list', async t => {
  const messages = upbitProtocol.subscribe(['KRW-BTC', 'KRW-ETH'], 35)
  t.strictSame(
    messages.map(text => JSON.parse(text)),
    [[{ ticket: 'kimchi-z' }, { type: 'ticker', codes: ['KRW-BTC', 'KRW-ETH'] }]],
  )
})
