import { once } from 'node:events'
import t from 'tap'
import WebSocket from 'ws'
import { connect, type Frame, get, startManual, tickersOf } from '../clients.ts'

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

t.test('fields: of two faults each alters what the other has left', async t => {
  const { simulator } = await startManual(t)
  const fault = { kind: 'fields', exchange: 'upbit', market: 'KRW-BTC' } as const
  simulator.faults.set({ ...fault, alter: () => ({ market_state: 'CAUTION', trade_volume: 1 }) })
  const alter = (frame: Frame) => ({ trade_volume: frame.trade_volume + 1 })
  simulator.faults.set({ ...fault, alter })
  const client = await connect(t, simulator.env.UPBIT_WS_URL)
  client.socket.send(JSON.stringify(tickersOf('KRW-BTC')))
  t.match(await client.next(() => true), { market_state: 'CAUTION', trade_volume: 2 })
})

t.test('rest: faults alter what others leave of a list; a refusal may depend on the query', async t => {
  const { simulator } = await startManual(t)
  const url = `${simulator.url}/api/v3/ticker/price`
  const fault = { kind: 'rest', exchange: 'binance', path: '/api/v3/ticker/price' } as const
  const rows = async () => (await get(url)).body
  const alter = (rows: readonly unknown[]) => rows.slice(1)
  const all = await rows()
  const undo = simulator.faults.set({ ...fault, alter })
  simulator.faults.set({ ...fault, alter })
  t.strictSame(await rows(), all.slice(2))
  undo()
  t.strictSame(await rows(), all.slice(1))
  simulator.faults.set({ ...fault, alter: 'cut' })
  await t.rejects(rows(), SyntaxError)
  const path = `${fault.path}?symbolStatus`
  simulator.faults.set({ kind: 'refuse', exchange: 'binance', status: 400, path })
  t.equal((await fetch(`${url}?symbolStatus=TRADING`)).status, 400)
  t.equal((await fetch(url)).status, 200)
})
