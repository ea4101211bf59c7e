import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { connect, get, startManual, tickersOf } from './clients.ts'

const RECORDED = fileURLToPath(new URL('../../../../shared/recorded/', import.meta.url))
const skip = existsSync(RECORDED) ? false : `no recorded frames at ${RECORDED}`

const linesOf = (name: string) =>
  readFileSync(RECORDED + name, 'utf8')
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))

const keysOf = (frame: object): string[] => Object.keys(frame).sort()

/** The type of every value by its key; numbers that are whole and numbers that are not are the same. */
const typesOf = (frame: object): Record<string, string> =>
  Object.fromEntries(
    Object.entries(frame).map(([key, value]) => [key, value === null ? 'null' : typeof value]),
  )

t.test('Upbit frames have the keys and types of the recorded ones', { skip }, async t => {
  const { simulator, run } = await startManual(t)
  const client = await connect(t, simulator.env.UPBIT_WS_URL)
  client.send(tickersOf('KRW-BTC'))
  await client.settled()
  run(5_000)
  let compared = 0
  for (const { dir, payload } of linesOf('ccxt/upbit-ws.2026-08-13.jsonl')) {
    if (dir !== 'recv' || payload.type !== 'ticker') continue
    const ours = await client.next()
    t.strictSame(keysOf(ours), keysOf(payload))
    t.strictSame(typesOf(ours), typesOf(payload))
    compared += 1
  }
  t.equal(compared, 2)
})

t.test('Binance miniTickers have the keys and types of the recorded ones', { skip }, async t => {
  const { simulator, run } = await startManual(t)
  const combined = await connect(t, `${simulator.env.BINANCE_WS_URL}/stream?streams=btcusdt@miniTicker`)
  const raw = await connect(t, `${simulator.env.BINANCE_WS_URL}/ws`)
  raw.send({ method: 'SUBSCRIBE', params: ['btcusdt@miniTicker'], id: 1 })
  await raw.next()
  run(5_000)
  const ours = await combined.next()
  for (const recorded of linesOf('single-frames/binance-miniticker.2025-2026.jsonl')) {
    const frame = 'stream' in recorded ? ours : await raw.next()
    t.strictSame(keysOf(frame), keysOf(recorded))
    t.strictSame(typesOf(frame.data ?? frame), typesOf(recorded.data ?? recorded))
  }
})

t.test('REST answers have the keys of the recorded ones, symbols some of them', { skip }, async t => {
  const { simulator } = await startManual(t)
  const captures = JSON.parse(readFileSync(`${RECORDED}maxt/upbit-captures.2026-07-30.json`, 'utf8'))
  const markets = await get(`${simulator.url}/v1/market/all?is_details=true`)
  const [recorded] = captures.market_all_is_details_4_of_800
  t.strictSame(keysOf(markets.body[0]), keysOf(recorded))
  t.strictSame(keysOf(markets.body[0].market_event.caution), keysOf(recorded.market_event.caution))

  const klines = JSON.parse(
    readFileSync(`${RECORDED}binance-klines/BTCUSDT-1m.raw-rest-answer.2021-10-22.json`, 'utf8'),
  )
  const ours = await get(`${simulator.url}/api/v3/klines?symbol=BTCUSDT&interval=1m&limit=1`)
  t.strictSame(Object.values(typesOf(ours.body[0])), Object.values(typesOf(klines[0])))

  const info = JSON.parse(
    readFileSync(`${RECORDED}cryptofeed/binance-exchangeInfo.usdt-symbols.2021-10-12.json`, 'utf8'),
  )
  const [symbol] = (await get(`${simulator.url}/api/v3/exchangeInfo`)).body.symbols
  t.match(typesOf(info.symbols[0]), typesOf(symbol))
})
