import { readdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { foldDays } from '@kimchi/core'
import { eventually } from '@kimchi/testkit'
import fc from 'fast-check'
import t from 'tap'
import { BTC, ETH, openStore, sampleOf } from './fixtures.ts'

// docs/faults.md, 5
t.test('an append-only file cut at any byte loads as whole minutes, and writing goes on', async t => {
  const { redis, connection, writer, reader, raw, today } = await openStore(t, {
    appendonly: true,
    coins: [BTC, ETH],
  })
  const minutes = Array.from({ length: 40 }, (_, at) => today - 20 + at)
  const write = async () => {
    for (const minute of minutes) {
      await writer.write({ minute, samples: [sampleOf('BTC', minute), sampleOf('ETH', minute, 5)] })
    }
  }
  // What docs/operations.md says to do after a short read: Redis 7.0 keeps the transaction that was cut open in
  // its file, and would run it at the next start.
  const makeCompact = async () => {
    await raw.call('BGREWRITEAOF')
    await eventually('it is compact', async () =>
      /aof_rewrite_in_progress:0/.test(await raw.info('persistence')),
    )
  }
  await write()
  for (const fraction of fc.sample(fc.double({ min: 0.5, max: 0.999, noNaN: true }), 5)) {
    await redis.stop()
    const folder = join(redis.dir, 'appendonlydir')
    const names = (await readdir(folder)).filter(name => name.endsWith('.incr.aof')).sort()
    const file = join(folder, names.at(-1) ?? '')
    await truncate(file, Math.floor((await stat(file)).size * fraction))
    await redis.restart()
    t.ok(await connection.untilReady(60_000))
    await makeCompact()
    await writer.write({ minute: today, samples: [] })
    const survivors = []
    for (const symbol of ['BTC', 'ETH']) {
      const { entries: samples, corrupt } = await reader.readSamples(symbol, today - 20, today + 20)
      t.equal(corrupt, 0)
      t.strictSame((await reader.readDays(symbol)).entries, foldDays(samples))
      survivors.push(samples.map(sample => sample.minute))
    }
    t.strictSame(survivors[0], survivors[1], 'a minute is there for all coins or for none')
    await write()
    t.equal((await reader.readSamples('BTC', today - 20, today + 20)).entries.length, 40)
  }
})
