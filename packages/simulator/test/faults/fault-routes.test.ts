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

t.test('a bad fault gets 400 with the field, its value and what is allowed', async t => {
  const { simulator } = await startManual(t)
  for (const [body, message] of [
    ['{', 'a fault must be a JSON object; got {'],
    [{ kind: 'silence', exchange: 'upbit', toString: 1 }, /^toString must be left out/],
    [[], 'a fault must be a JSON object; got []'],
    [{ kind: 'flood', exchange: 'upbit' }, /^kind must be one of silence, .*; got "flood"$/],
    [{ kind: 'toString', exchange: 'upbit' }, /^kind must be one of/],
    [{ kind: 'silence', exchange: 'kraken' }, 'exchange must be one of upbit, binance, both; got "kraken"'],
    [{ kind: 'silence' }, 'exchange must be one of upbit, binance, both; got nothing'],
    [{ kind: 'silence', exchange: 'upbit', market: 'KRW-NOSUCH' }, /^market must be .*; got "KRW-NOSUCH"$/],
    [{ kind: 'drop', exchange: 'upbit', market: 'KRW-BTC' }, /^market must be left out; drop has/],
    [{ kind: 'rest', exchange: 'upbit' }, 'mode must be one of empty, half, truncated, omit; got nothing'],
    [{ kind: 'outage', exchange: 'upbit', from: -1 }, /^from must be a whole number.*; got -1$/],
    [{ kind: 'silence', exchange: 'upbit', forMs: 'long' }, /^forMs must be a whole number.*; got "long"$/],
    [{ kind: 'silence', exchange: 'upbit', frames: 0 }, /^frames must be .*; got 0$/],
    [
      { kind: 'silence', exchange: 'upbit', colour: 1 },
      /^colour must be left out; silence has exchange, forMs, frames, market, delivery; got 1$/,
    ],
    [{ kind: 'refuse', exchange: 'upbit', status: 200 }, /^status must be .*; got 200$/],
    [{ kind: 'price', exchange: 'upbit' }, 'factor must be a number; got nothing'],
    [
      { kind: 'refuse', exchange: 'upbit', status: 429, share: 2 },
      'share must be a number from 0 to 1; got 2',
    ],
    [{ kind: 'halt', exchange: 'upbit', klines: 'many' }, 'klines must be one of flat, none; got "many"'],
    [{ kind: 'state', exchange: 'upbit', state: 1 }, 'state must be a word; got 1'],
    [{ kind: 'lag', exchange: 'upbit', maxMs: 60_000 }, /^maxMs must be .*, at most 10000; got 60000$/],
    [{ kind: 'rest', exchange: 'upbit', mode: 'half', path: 'v1' }, /^path must be .*; got "v1"$/],
  ] as const) {
    const answer = await send(`${simulator.url}/faults`, 'POST', body)
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(await answer.json(), { error: message })
  }
  t.strictSame(simulator.faults.list(), [])
  t.equal((await send(`${simulator.url}/faults`, 'PUT', {})).status, 405)
  t.equal((await send(`${simulator.url}/v1/market/all`, 'POST', {})).status, 405)
  t.match((await get(simulator.url)).body, { simulated: true, faults: '/faults' })
})
