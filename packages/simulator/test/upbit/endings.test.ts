import { once } from 'node:events'
import t from 'tap'
import WebSocket from 'ws'
import { connect, startManual, tickersOf } from '../clients.ts'

t.test('Upbit cuts a connection after 60 s without a ping, whatever else it hears and sends', async t => {
  const { simulator, run } = await startManual(t)
  const [silent, pinging] = [
    await connect(t, simulator.env.UPBIT_WS_URL),
    await connect(t, simulator.env.UPBIT_WS_URL),
  ]
  for (const { socket } of [silent, pinging]) socket.send(JSON.stringify(tickersOf('KRW-BTC')))
  await pinging.next(({ stream_type: type }) => type === 'SNAPSHOT')
  run(59_000, 1_000)
  const answered = once(pinging.socket, 'pong')
  pinging.socket.ping()
  await answered
  run(1_000)
  t.match(await silent.closed, { code: 1006 })
  run(58_000, 1_000)
  t.equal(simulator.connections('upbit'), 1)
})

t.test('an error frame is followed by a close with 1000 after 150 to 180 ms', async t => {
  const { simulator, run } = await startManual(t)
  const client = await connect(t, simulator.env.UPBIT_WS_URL)
  client.socket.send('[]')
  t.match(await client.next(() => true), { error: { name: 'WRONG_FORMAT' } })
  run(149)
  t.equal(client.socket.readyState, WebSocket.OPEN)
  run(31)
  t.match(await client.closed, { code: 1000 })
})

t.test('state: a market that trades has any market_state', async t => {
  const { simulator } = await startManual(t)
  simulator.faults.set({ kind: 'state', exchange: 'upbit', market: 'KRW-BTC', state: 'CAUTION' })
  const client = await connect(t, simulator.env.UPBIT_WS_URL)
  client.socket.send(JSON.stringify(tickersOf('KRW-BTC')))
  t.match(await client.next(() => true), { market_state: 'CAUTION', is_trading_suspended: false })
})

t.test('omit: a REST list lacks one market; a refusal may depend on the query', async t => {
  const { simulator } = await startManual(t)
  const url = `${simulator.url}/api/v3/ticker/price`
  const path = '/api/v3/ticker/price'
  simulator.faults.set({ kind: 'rest', exchange: 'binance', mode: 'omit', without: 'ETHUSDT', frames: 1 })
  const symbolsOf = async () =>
    ((await (await fetch(url)).json()) as { symbol: string }[]).map(({ symbol }) => symbol)
  const [first, second] = [await symbolsOf(), await symbolsOf()]
  t.strictSame(
    second.filter(symbol => !first.includes(symbol)),
    ['ETHUSDT'],
  )
  simulator.faults.set({ kind: 'refuse', exchange: 'binance', status: 400, path: `${path}?symbolStatus` })
  t.equal((await fetch(`${url}?symbolStatus=TRADING`)).status, 400)
  t.equal((await fetch(url)).status, 200)
})
