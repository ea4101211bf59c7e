import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createManualClock } from '@kimchi/core/testing'
import t, { type Test } from 'tap'
import { AT, simulate, tradingPricesFrom, until } from '../harness.ts'

const never = new AbortController().signal

async function serve(t: Test, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const urls: string[] = []
  const server = createServer((request, response) => {
    urls.push(request.url ?? '')
    answer(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  const clock = createManualClock(AT)
  const restUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { ask: tradingPricesFrom(restUrl, clock), restUrl, clock, urls }
}

t.test('one call gives the price of every symbol that trades', async t => {
  const simulator = await simulate(t)
  const prices = await tradingPricesFrom(`${simulator.binanceRestUrl}/`, createManualClock(AT))(never)
  t.ok((prices.get('BTCUSDT') ?? 0) > 0)
  t.ok((prices.get('ETHUSDT') ?? 0) > 0)
  t.equal(prices.has('NOSUCHUSDT'), false)
})

t.test('only symbols that trade are requested', async t => {
  const { ask, urls } = await serve(t, (_request, response) =>
    response.end('[{"symbol":"BTCUSDT","price":"5"}]'),
  )
  t.strictSame(await ask(never), new Map([['BTCUSDT', 5]]))
  t.strictSame(urls, ['/api/v3/ticker/price?symbolStatus=TRADING'])
})

t.test('a broken price is undefined, and a broken entry is left out', async t => {
  const entries = [
    { symbol: 'AUSDT', price: '0.00000000' },
    { symbol: 'BUSDT', price: 5 },
    { symbol: 'CUSDT', price: '-1' },
    { price: '1' },
    null,
    'x',
    { symbol: 'BTCUSDT', price: '5' },
  ]
  const { ask } = await serve(t, (_request, response) => response.end(JSON.stringify(entries)))
  t.strictSame(
    [...(await ask(never))],
    [
      ['AUSDT', undefined],
      ['BUSDT', undefined],
      ['CUSDT', undefined],
      ['BTCUSDT', 5],
    ],
  )
})

t.test('a refusal keeps its status and its time', async t => {
  for (const [status, code] of [
    [429, 'KIMCHI_ERR_REST'],
    [418, 'KIMCHI_ERR_REST'],
    [451, 'KIMCHI_ERR_GEO_BLOCKED'],
    [302, 'KIMCHI_ERR_REST'],
  ] as const) {
    const { ask } = await serve(t, (_request, response) => {
      response.writeHead(status, { 'Retry-After': '9', Location: 'http://127.0.0.1:9/' }).end('{}')
    })
    await t.rejects(ask(never), { code, status, retryAfterMs: 9_000 })
  }
})

t.test(
  'any other answer is a REST error: a broken list must not halt the coins that it leaves out',
  async t => {
    const others = '[{"symbol":"ETHUSDT","price":"5"}]'
    for (const body of [
      '',
      'gateway error',
      '{"symbol":"BTCUSDT"}',
      '5',
      '[]',
      others,
      others.slice(0, 20),
    ]) {
      const { ask } = await serve(t, (_request, response) => response.end(body))
      await t.rejects(ask(never), { code: 'KIMCHI_ERR_REST', message: /ticker\/price/ }, body)
    }
    const refused = tradingPricesFrom('http://127.0.0.1:9', createManualClock(AT))
    await t.rejects(refused(never), { code: 'KIMCHI_ERR_REST', message: /ticker\/price/ })
  },
)

t.test('a request without an answer fails after 10 s, and at once when aborted', async t => {
  const { ask, clock, urls } = await serve(t, () => {})
  const slow = ask(never)
  await until('the request', () => urls.length === 1)
  await Promise.all([t.rejects(slow, { message: /no answer within 10000 ms/ }), clock.advance(10_000)])
  const stop = new AbortController()
  const aborted = ask(stop.signal)
  await until('the second request', () => urls.length === 2)
  stop.abort()
  await t.rejects(aborted, { code: 'KIMCHI_ERR_REST' })
  t.equal(clock.waiting, 0)
})
