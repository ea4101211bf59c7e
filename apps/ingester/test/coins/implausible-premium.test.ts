import { dateOf } from '@kimchi/core'
import t, { type Test } from 'tap'
import { YESTERDAY } from '../support/backfill-bench.ts'
import { openLockstep } from '../support/lockstep.ts'
import { lie, MARKET_COINS } from '../support/market.ts'

async function open(t: Test, coins = MARKET_COINS) {
  const lockstep = await openLockstep(t, { at: 20, coins })
  const { reader, raw, minute } = lockstep
  const call = (name: string, ...args: string[]) => raw.call('FCALL_RO', name, '1', '{kp}:meta', ...args)
  return {
    ...lockstep,
    /** The minutes of which a coin has a sample, up to the last but one. */
    stored: async (symbol: string, from: number) =>
      (await reader.readSamples(symbol, from, minute() - 1)).entries,
    ready: async ({ ops }: Awaited<ReturnType<typeof lockstep.start>>) => {
      const { status, body } = await ops('/ready')
      return { status, ...(JSON.parse(String(body)) as { notes: string[] }) }
    },
    linesOf: async (symbol: string) =>
      ((await call('kp_status')) as string[]).filter(line => line.startsWith(symbol)),
    gapsOf: async (symbol: string) =>
      ((await call('kp_gaps', symbol, dateOf(YESTERDAY))) as string[]).join('\n'),
  }
}

// docs/faults.md, 89
t.test('a swap 1:1000 under an unchanged ticker: unpublished and told', async t => {
  const { simulator, log, read, pass, passUntil, start, minute, stored, ready, linesOf } = await open(t)
  const running = await start()
  await passUntil('LINK is live', async () => (await read.live()).includes('LINK'))
  simulator.faults.set({ kind: 'price', exchange: 'binance', market: 'LINKUSDT', factor: 1_000 })
  await pass(1)
  const from = minute() + 1
  await pass(8)
  t.strictSame(await stored('LINK', from), [])
  t.equal((await stored('BTC', from)).length, minute() - 1 - from, 'the others go on')
  const { status, notes } = await ready(running)
  t.equal(status, 200)
  t.match(notes, [
    /^LINK is not published: .* KRW-LINK at \d+, LINKUSDT at [\d.]+, KRW-USDT at \d+; .*ALLOW=LINK$/,
  ])
  const newest = log.lines.findLast(({ message }) => message === 'minute')
  t.match(newest?.fields, { gaps: 1, implausible: 1 }, 'a minute’s line names the reasons of its gaps')
  t.match(await linesOf('LINK'), [
    / stale /,
    /^LINK implausible its prices .* KRW-LINK at \d+, LINKUSDT at [\d.]+,/,
  ])
})

// docs/faults.md, 89
t.test('candles settle implausible minutes, and ALLOW opens them', async t => {
  const coins = [...MARKET_COINS.filter(({ id }) => ['BTC', 'USDT'].includes(id)), ...lie('SWAP', 1_000)]
  const { read, passUntil, start, stored, gapsOf, minute } = await open(t, coins)
  const env = { COINS: 'BTC,SWAP', BACKFILL_DAYS: '1' }
  const from = minute() - 20
  const running = await start({ env })
  await passUntil('backfill has decided', async () =>
    /^.* implausible, beyond a factor of four$/m.test(await gapsOf('SWAP')),
  )
  t.strictSame(await stored('SWAP', from), [])
  await running.close()
  await start({ env: { ...env, ALLOW: 'SWAP' } })
  await passUntil('it is filled', async () => (await stored('SWAP', from)).length > 15)
  t.ok((await read.live()).includes('SWAP'))
})
