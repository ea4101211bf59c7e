import { dateOf, foldDays, premiumE4, type Sample, type SettledReason } from '@kimchi/core'
import fc from 'fast-check'
import t from 'tap'
import type { SampleReader } from '../src/reader.ts'
import { BTC, connected, ETH, openStore, rowOf, sampleOf, writerOn } from './fixtures.ts'

// Few minutes around two day turns and an hour turn, so that they meet again and again.
const MINUTES = [-61, -60, -59, -2, -1, 0, 1, 2, 1438, 1439, 1440, 1441]

// docs/faults.md, 4
t.test('days equal the fold of the stored samples, whatever order, repetition and rivalry', async t => {
  const { redis, connection, reader, raw, ask, today } = await openStore(t)
  const one = writerOn(connection)
  const other = writerOn(await connected(t, redis))
  const from = today - 2 * 1440

  const sample = fc
    .record({
      symbol: fc.constantFrom('BTC', 'ETH'),
      minute: fc.constantFrom(...MINUTES).map(at => from + 1440 + at),
      upbitKrw: fc.integer({ min: 1, max: 200_000_000 }),
      binanceUsdt: fc.double({ min: 0.001, max: 120_000, noNaN: true }),
      source: fc.constantFrom('live' as const, 'candle' as const),
    })
    .map(
      (fields): Sample => ({
        ...fields,
        usdtKrw: 1_463.5,
        premiumE4: Math.max(-1e10, Math.min(1e10, premiumE4(fields.upbitKrw, fields.binanceUsdt, 1_463.5))),
      }),
    )
  const batches = fc.array(fc.array(sample, { maxLength: 12 }), { minLength: 1, maxLength: 8 })

  await fc.assert(
    fc.asyncProperty(batches, fc.boolean(), async (batches, isRivalry) => {
      await raw.flushall()
      for (const writer of [one, other]) await writer.track([BTC, ETH])
      const firsts = new Map<string, Sample>()
      let stored = 0
      const writes = batches.map((samples, index) => async () => {
        const writer = isRivalry && index % 2 === 1 ? other : one
        const result = await writer.write({ minute: today, samples })
        stored += result.stored
        if (isRivalry) return
        for (const each of samples) {
          const id = `${each.symbol}:${each.minute}`
          if (!firsts.has(id)) firsts.set(id, each)
        }
      })
      if (isRivalry) await Promise.all(writes.map(write => write()))
      else for (const write of writes) await write()

      const board = await reader.readBoard()
      let kept = 0
      for (const symbol of ['BTC', 'ETH']) {
        const { entries: samples, corrupt } = await reader.readSamples(symbol, from, today + 1440)
        kept += samples.length
        t.equal(corrupt, 0)
        t.strictSame(await reader.readDays(symbol), { entries: foldDays(samples), corrupt: 0 })
        const newest = samples.at(-1)
        const row = board.rows.find(row => row.symbol === symbol)
        const isListed = newest && newest.minute > (await newestOf(reader, from, today)) - 60
        t.strictSame(row, isListed && newest ? rowOf(newest) : undefined, 'the live row is the newest sample')
        const closed = samples.filter(each => dateOf(each.minute) !== board.today)
        t.equal((board.revisions.get(symbol) ?? 0) > 0, closed.length > 0)
        if (!isRivalry) {
          const expected = [...firsts.values()].filter(each => each.symbol === symbol)
          t.strictSame(
            samples,
            expected.sort((a, b) => a.minute - b.minute),
            'the first stored wins whole',
          )
        }
        const lines = await ask('kp_check', symbol)
        t.equal(lines.filter(line => / ok \d+ samples$/.test(line)).length, foldDays(samples).length)
      }
      t.equal(stored, kept, 'what is reported as stored is stored')
    }),
    { numRuns: 60 },
  )
})

t.test('a minute is stored, settled or open, whatever order and rivalry', async t => {
  const { redis, connection, reader, raw, today } = await openStore(t)
  const one = writerOn(connection)
  const other = writerOn(await connected(t, redis))
  const minutes = MINUTES.map(at => today - 1440 + at)
  const entry = fc.record({
    symbol: fc.constant('BTC'),
    minute: fc.constantFrom(...minutes),
    reason: fc.constantFrom<SettledReason>('halted', 'no-rate', 'upbit-down'),
  })
  const batch = fc.record({
    stored: fc.uniqueArray(fc.constantFrom(...minutes), { maxLength: 4 }),
    settled: fc.array(entry, { maxLength: 8 }),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(batch, { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      async (batches, isRivalry) => {
        await raw.flushall()
        await one.verify()
        const writes = batches.map(({ stored, settled }, index) => () => {
          const samples = stored.map(minute => sampleOf('BTC', minute))
          return (isRivalry && index % 2 === 1 ? other : one).write({ minute: today, samples, settled })
        })
        if (isRivalry) await Promise.all(writes.map(write => write()))
        else for (const write of writes) await write()

        const stored = new Set(batches.flatMap(each => each.stored))
        const settled = batches.flatMap(each => each.settled).filter(({ minute }) => !stored.has(minute))
        const kept = new Map<number, string>()
        for (const key of await raw.keys('{kp}:settled:*')) {
          for (const member of await raw.zrange(key, 0, '-1')) {
            const [minute, reason = ''] = member.split(' ')
            t.notOk(kept.has(Number(minute)), 'settled once')
            kept.set(Number(minute), reason)
          }
        }
        t.strictSame([...kept.keys()].sort(), [...new Set(settled.map(({ minute }) => minute))].sort())
        for (const [minute, reason] of kept) {
          const reasons = settled.filter(each => each.minute === minute).map(each => each.reason)
          const expected = reasons.includes('halted') ? ['halted'] : isRivalry ? reasons : reasons.slice(0, 1)
          t.ok((expected as string[]).includes(reason), `${reason} of ${reasons.join()}`)
        }
        for (const minute of minutes) {
          const isOpen = (await reader.readOpenMinutes('BTC', minute, minute + 1)).length === 1
          t.equal(isOpen, !stored.has(minute) && !kept.has(minute))
        }
      },
    ),
    { numRuns: 40 },
  )
})

/** The newest stored minute of both coins: a row an hour older is off the list. */
async function newestOf(reader: SampleReader, from: number, today: number): Promise<number> {
  const stored = await Promise.all(
    ['BTC', 'ETH'].map(symbol => reader.readSamples(symbol, from, today + 1440)),
  )
  return Math.max(0, ...stored.flatMap(({ entries }) => entries.map(({ minute }) => minute)))
}
