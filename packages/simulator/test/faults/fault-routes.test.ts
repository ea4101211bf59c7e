import t from 'tap'
import { connect, get, startManual, tickersOf } from '../clients.ts'

const send = (url: string, method: string, body?: unknown) =>
  fetch(url, {
    method,
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })

t.test('a person sets, lists and ends faults over HTTP', async t => {
  const { simulator, run } = await startManual(t)
  const faults = `${simulator.url}/faults`
  const client = await connect(t, simulator.upbitWsUrl)
  client.send(tickersOf('KRW-BTC'))
  await client.next()
  const set = await send(faults, 'POST', { kind: 'silence', exchange: 'upbit' })
  t.equal(set.status, 201)
  const { id } = (await set.json()) as { id: number }
  run(10_000)
  await client.settled()
  t.equal(client.frames.length, 1)
  const listed = (await get(faults)).body.faults
  t.match(listed, [{ id, kind: 'silence', exchange: 'upbit', setAt: '2026-11-20T13:37:30.000Z' }])
  t.ok(listed[0].altered > 0)

  t.strictSame(await (await send(`${faults}/${id}`, 'DELETE')).json(), { ended: 1 })
  t.equal((await send(`${faults}/${id}`, 'DELETE')).status, 404)
  run(10_000)
  t.match(await client.next(), { stream_type: 'REALTIME' })
  await send(faults, 'POST', { kind: 'silence', exchange: 'both', market: 'KRW-BTC' })
  await send(faults, 'POST', { kind: 'price', exchange: 'both', factor: 2 })
  t.strictSame(await (await send(faults, 'DELETE')).json(), { ended: 2 })
  t.equal((await send(faults, 'POST', { kind: 'drop', exchange: 'upbit' })).status, 201)
  await client.closed
})

t.test('what is no fault gets 400', async t => {
  const { simulator } = await startManual(t)
  for (const body of ['{', [], null, { kind: 'silence' }, { exchange: 'upbit' }]) {
    const answer = await send(`${simulator.url}/faults`, 'POST', body)
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(await answer.json(), { error: /^a fault must be JSON with a kind and an exchange; got / })
  }
  t.strictSame(simulator.faults.list(), [])
  t.equal((await send(`${simulator.url}/faults`, 'PUT', {})).status, 405)
  t.equal((await send(`${simulator.url}/v1/market/all`, 'POST', {})).status, 405)
  t.match((await get(simulator.url)).body, { simulated: true, faults: '/faults' })
})
