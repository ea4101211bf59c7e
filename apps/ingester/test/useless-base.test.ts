import { createSimulator } from '@kimchi/simulator'
import { MEMORY_URLS, networkOf } from '@kimchi/testkit'
import t from 'tap'
import { openLockstep } from './support/lockstep.ts'
import { MARKET_COINS } from './support/market.ts'

const coins = MARKET_COINS.filter(({ id }) => ['BTC', 'USDT'].includes(id))

// docs/faults.md, 70
t.test('the first base answers 451: a live answer within 90 s from the next one', async t => {
  const { clock, simulator, read, passUntil, start } = await openLockstep(t, { coins })
  const blocked = createSimulator({ coins })
  blocked.faults.set({ kind: 'refuse', exchange: 'binance', status: 451 })
  const networkTo = (url: unknown) => networkOf(String(url).includes('blocked') ? blocked : simulator)
  const { BINANCE_WS_URL, BINANCE_REST_URL, UPBIT_WS_URL } = MEMORY_URLS
  const startedAt = clock.now()
  const { ops } = await start({
    env: {
      COINS: 'BTC',
      BINANCE_WS_URL: `ws://blocked,${BINANCE_WS_URL}`,
      BINANCE_REST_URL: `http://blocked,${BINANCE_REST_URL}`,
    },
    network: {
      redis: {},
      openSocket: url => networkTo(url).openSocket(url),
      fetch: (url, init) => networkTo(url).fetch(url, init),
    },
  })
  await passUntil('the first live row', async () => (await read.live()).includes('BTC'))
  const seconds = (clock.now() - startedAt) / 1_000
  t.comment(`first live row after ${seconds} s by the clock`)
  t.ok(seconds <= 90)
  t.match(await read.status(), {
    binance_stream_base: BINANCE_WS_URL,
    binance_rest_base: BINANCE_REST_URL,
    upbit_stream_base: UPBIT_WS_URL,
  })
  const { notes } = JSON.parse(String((await ops('/ready')).body)) as { notes: string[] }
  t.match(notes, [/^binance stream: .* is in use instead of/, /^binance rest: .* is in use instead of/])
})
