import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { openLockstep } from './support/lockstep.ts'
import { MARKET_COINS } from './support/market.ts'

/** A base that gives every request and every handshake the same answer, none of it what was asked for. */
async function openUselessBase(t: Test, status: number, body: string) {
  let asked = 0
  const server = createServer((_request, response) => {
    asked += 1
    response.writeHead(status, { location: 'http://127.0.0.1:9/' }).end(body)
  })
  server.on('upgrade', (_request, socket) => {
    asked += 1
    socket.on('error', () => {})
    socket.end(`HTTP/1.1 ${status} No\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { authority: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked }
}

const PAGE = '<!doctype html><title>Welcome to this network</title>'
const coins = MARKET_COINS.filter(({ id }) => ['BTC', 'USDT'].includes(id))

for (const [status, body] of [
  [451, '{"code":0,"msg":"Service unavailable from a restricted location"}'],
  [403, '<html>403 Forbidden</html>'],
  [503, ''],
  [302, ''],
  [200, PAGE],
  [202, PAGE],
  [404, PAGE],
] as const) {
  // docs/faults.md, 70
  t.test(`the first base answers ${status}: a live answer within 90 s from the next one`, async t => {
    const { clock, simulator, read, passUntil, start } = await openLockstep(t, { coins })
    const { authority, asked } = await openUselessBase(t, status, body)
    const startedAt = clock.now()
    const { opsUrl } = await start({
      env: {
        COINS: 'BTC',
        BINANCE_WS_URL: `ws://${authority},${simulator.binanceWsUrl}`,
        BINANCE_REST_URL: `http://${authority},${simulator.binanceRestUrl}`,
      },
    })
    await passUntil('the first live row', async () => (await read.live()).includes('BTC'))
    const seconds = (clock.now() - startedAt) / 1_000
    t.comment(`first live row after ${seconds} s by the clock, ${asked()} requests in vain`)
    t.ok(seconds <= 90)
    t.match(await read.status(), {
      binance_stream_base: simulator.binanceWsUrl,
      binance_rest_base: simulator.binanceRestUrl,
      upbit_stream_base: simulator.upbitWsUrl,
    })
    const { notes } = (await (await fetch(`${opsUrl}/ready`)).json()) as { notes: string[] }
    t.match(notes, [/^binance stream: .* is in use instead of/, /^binance rest: .* is in use instead of/])
  })
}
