import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createManualClock } from '@kimchi/core/testing'
import t, { type Test } from 'tap'
import { binanceSeed } from '../../src/binance/seed.ts'
import { AT, simulate, until } from '../harness.ts'

const never = new AbortController().signal

async function serve(t: Test, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const urls: string[] = []
  const server = createServer((request, response) => {
    urls.push(decodeURIComponent(request.url ?? ''))
    answer(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  const clock = createManualClock(AT)
  const restUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { seed: binanceSeed({ restUrl }, { clock }), clock, urls }
}

t.test('one call gives a tick for every market, at its receive time', async t => {
  const simulator = await simulate(t)
  const seed = binanceSeed({ restUrl: `${simulator.binanceRestUrl}/` }, { clock: createManualClock(AT) })
  const ticks = await seed(['BTCUSDT', 'ETHUSDT'], never)
  t.equal(ticks.length, 2)
  for (const tick of ticks) {
    t.match(tick, { exchange: 'binance', origin: 'seed', eventAt: AT, receivedAt: AT, tradable: true })
    t.equal(tick.tradedAt, undefined)
    t.ok(tick.price > 0)
  }
})

t.test('a symbol that Binance does not know costs one more call, for everything', async t => {
  const { seed, urls } = await serve(t, (request, response) => {
    if (request.url?.includes('symbols='))
      response.writeHead(400).end('{"code":-1121,"msg":"Invalid symbol."}')
    else response.end('[{"symbol":"BTCUSDT","price":"5.00"},{"symbol":"OTHER","price":"6"}]')
  })
  t.match(await seed(['BTCUSDT', 'GONEUSDT'], never), [{ market: 'BTCUSDT', price: 5 }])
  t.strictSame(urls, ['/api/v3/ticker/price?symbols=["BTCUSDT","GONEUSDT"]', '/api/v3/ticker/price'])
})

t.test('many markets are asked for without a list in the address', async t => {
  const { seed, urls } = await serve(t, (_request, response) => response.end('[]'))
  t.strictSame(
    await seed(
      Array.from({ length: 201 }, (_, i) => `C${i}USDT`),
      never,
    ),
    [],
  )
  t.strictSame(urls, ['/api/v3/ticker/price?symbolStatus=TRADING'])
})

t.test('broken entries are left out, and a thousand coins become one', async t => {
  const entries = [
    { symbol: 'AUSDT', price: '0.00000000' },
    { symbol: 'BUSDT', price: 5 },
    { symbol: 'CUSDT', price: '-1' },
    null,
    'x',
    { symbol: '1000SATSUSDT', price: '0.00001620' },
  ]
  const { seed } = await serve(t, (_request, response) => response.end(JSON.stringify(entries)))
  t.match(await seed(['AUSDT', 'BUSDT', 'CUSDT', '1000SATSUSDT'], never), [
    { market: '1000SATSUSDT', price: 1.62e-8 },
  ])
})

t.test('refusals keep their status and their time', async t => {
  for (const [status, code, retryAfterMs] of [
    [429, 'KIMCHI_ERR_REST', 9_000],
    [418, 'KIMCHI_ERR_REST', 9_000],
    [451, 'KIMCHI_ERR_GEO_BLOCKED', 9_000],
    [302, 'KIMCHI_ERR_REST', 9_000],
  ] as const) {
    const { seed } = await serve(t, (_request, response) => {
      response.writeHead(status, { 'Retry-After': '9', Location: 'http://127.0.0.1:9/' }).end('{}')
    })
    await t.rejects(seed(['BTCUSDT'], never), { code, status, retryAfterMs })
  }
})

t.test('anything else is a REST error that says what happened', async t => {
  for (const body of ['', 'gateway error', '{"symbol":"BTCUSDT"}', '5']) {
    const { seed } = await serve(t, (_request, response) => response.end(body))
    await t.rejects(seed(['BTCUSDT'], never), { code: 'KIMCHI_ERR_REST' }, body)
  }
  const refused = binanceSeed({ restUrl: 'http://127.0.0.1:9' }, { clock: createManualClock(AT) })
  await t.rejects(refused(['BTCUSDT'], never), { code: 'KIMCHI_ERR_REST', message: /ticker\/price/ })
})

t.test('an answer that does not come is given up after 10 s, and at once when aborted', async t => {
  const { seed, clock, urls } = await serve(t, () => {})
  const slow = seed(['BTCUSDT'], never)
  await until('the request', () => urls.length === 1)
  await Promise.all([t.rejects(slow, { message: /no answer within 10000 ms/ }), clock.advance(10_000)])
  const stop = new AbortController()
  const aborted = seed(['BTCUSDT'], stop.signal)
  await until('the second request', () => urls.length === 2)
  stop.abort()
  await t.rejects(aborted, { code: 'KIMCHI_ERR_REST' })
  t.equal(clock.waiting, 0)
})
