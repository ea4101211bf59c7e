import t from 'tap'
import { openLockstep } from '../support/lockstep.ts'
import { lie, MARKET_COINS } from '../support/market.ts'

t.test(
  'a wrong pair that appears, or is there at a first start, is never stored, not even by backfill',
  async t => {
    const { simulator, read, raw, pass, passUntil, start } = await openLockstep(t, {
      at: 20,
      coins: [
        ...MARKET_COINS.filter(({ id }) => ['BTC', 'ETH', 'XRP', 'SOL', 'USDT'].includes(id)),
        ...lie('WRONG', 1.3),
        ...lie('CLOSE', 1.1),
      ],
    })
    const { ops } = await start({ env: { BACKFILL_DAYS: '1' } })
    await passUntil('a whole pass of backfill', async () =>
      /^\d/.test((await read.status()).drift_compared ?? ''),
    )
    t.ok((await read.live()).includes('CLOSE'), 'ten points are no reason at a first start')
    t.ok((await read.keysOf('BTC')).length > 24, 'backfill has filled a day')
    t.match(await read.status(), {
      quarantined_coins: /^WRONG \(premium \d\d\.\d\d points off the market's median\)$/,
    })
    for (const coin of lie('LATER', 1.2)) simulator.list(coin)
    await pass(36)
    t.match(await read.status(), { quarantined_coins: /^LATER \(premium .*\); WRONG \(premium .*\)$/ })
    const metrics = String((await ops('/metrics')).body)
    t.match(metrics, /^kimchi_ingester_quarantined_coins 2$/m)
    for (const symbol of ['WRONG', 'LATER']) {
      t.strictSame(await read.keysOf(symbol), [], `no key of ${symbol}`)
      t.notOk((await read.coins()).has(symbol))
      t.notOk(await raw.hexists('{kp}:live', symbol))
    }
  },
)
