import { syntheticCoins } from '@kimchi/simulator'
import t from 'tap'
import { openLockstep } from '../support/lockstep.ts'
import { inFewFrames, lie } from '../support/market.ts'

for (const count of [5, 10, 200]) {
  t.test(
    `an empty Redis and ${count} coins, one at +130 %: the others show with the first minute`,
    async t => {
      const made = syntheticCoins(count - 2, 4).filter(({ id }) => id.startsWith('SYN'))
      const coins = [...inFewFrames(['BTC', 'USDT']), ...made, ...lie('FAR', 2.3)]
      const { read, pass, passUntil, start, minute, wrongMinutes } = await openLockstep(t, { coins })
      const { ops } = await start()
      const startedAt = minute()
      await passUntil('the first minute', async () => (await read.live()).length > 0)
      t.ok(minute() - startedAt <= 2, `after ${minute() - startedAt} minutes`)
      await pass(3)
      t.equal((await read.live()).length, count - 1)
      t.strictSame(await wrongMinutes('BTC', startedAt + 2, minute()), [])
      t.notOk((await read.live()).includes('FAR'))
      const { status, body } = await ops('/ready')
      t.equal(status, 200)
      t.match(JSON.parse(String(body)).notes, [
        /^FAR is not published: premium 1[23]\d.* % where the market's median is .* KRW-FAR at .*ALLOW=FAR$/,
      ])
    },
  )
}
