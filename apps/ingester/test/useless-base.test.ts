import { startSimulator } from '@kimchi/simulator'
import t from 'tap'
import { openLockstep } from './support/lockstep.ts'
import { MARKET_COINS } from './support/market.ts'

const coins = MARKET_COINS.filter(({ id }) => ['BTC', 'USDT'].includes(id))

// docs/faults.md, 70
t.test('the first base answers 451: a live answer within 90 s from the next one', async t => {
  const { clock, simulator, read, passUntil, start } = await openLockstep(t, { coins })
  const blocked = await startSimulator({ coins, pumpMs: 0 })
  t.teardown(() => blocked.close())
  blocked.faults.set({ kind: 'refuse', exchange: 'binance', status: 451 })
  const startedAt = clock.now()
  const { ops } = await start({
    env: {
      COINS: 'BTC',
      BINANCE_WS_URL: `${blocked.binanceWsUrl},${simulator.binanceWsUrl}`,
      BINANCE_REST_URL: `${blocked.binanceRestUrl},${simulator.binanceRestUrl}`,
    },
  })
  await passUntil('the first live row', async () => (await read.live()).includes('BTC'))
  const seconds = (clock.now() - startedAt) / 1_000
  t.comment(`first live row after ${seconds} s by the clock`)
  t.ok(seconds <= 90)
  t.match(await read.status(), {
    binance_stream_base: simulator.binanceWsUrl,
    binance_rest_base: simulator.binanceRestUrl,
    upbit_stream_base: simulator.upbitWsUrl,
  })
  const { notes } = JSON.parse(String((await ops('/ready')).body)) as { notes: string[] }
  t.match(notes, [/^binance stream: .* is in use instead of/, /^binance rest: .* is in use instead of/])
})
