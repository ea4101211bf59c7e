import { dateOf } from '@kimchi/core'
import t from 'tap'
import { haltedKey } from '../src/keys.ts'
import { openStore, sampleOf, todayMinutes } from './fixtures.ts'

// docs/faults.md, 39

t.test('a minute known as halted is not missing, and no sample either', async t => {
  const { writer, reader, connection } = await openStore(t)
  const start = (await todayMinutes(connection)).today - 1440
  const halt = (minute: number) => writer.write({ minute: start + minute, samples: [], halted: ['BTC'] })
  // Over an hour's end, in any order, twice.
  for (const minute of [61, 58, 59, 60, 59]) await halt(minute)
  t.strictSame(await reader.readMissing('BTC', start, start + 120), [
    { start, end: start + 58 },
    { start: start + 62, end: start + 120 },
  ])
  t.strictSame(await reader.readMissing('BTC', start + 59, start + 61), [])
  t.strictSame(await reader.readMissing('ETH', start + 59, start + 60), [
    { start: start + 59, end: start + 60 },
  ])
  t.strictSame((await reader.readDays('BTC')).entries, [])
})

t.test('a sample of an ingester that saw the coin trade is stored all the same', async t => {
  const { writer, reader, connection } = await openStore(t)
  const { today } = await todayMinutes(connection)
  await writer.write({ minute: today, samples: [], halted: ['BTC'] })
  t.match(await writer.write({ minute: today, samples: [sampleOf('BTC', today)] }), { stored: 1 })
  t.equal((await reader.readSamples('BTC', today, today + 1)).entries.length, 1)
  t.strictSame(await reader.readMissing('BTC', today, today + 1), [])
})

t.test('a halt is forgotten with the samples of its day', async t => {
  const { writer, connection, raw } = await openStore(t)
  const { today } = await todayMinutes(connection)
  await writer.write({ minute: today - 1440, samples: [], halted: ['BTC'] })
  // Yesterday is kept for 8 whole days, by the fixtures' retention.
  const expiresAt = Number(await raw.call('EXPIRETIME', haltedKey('BTC', dateOf(today - 1440), 0)))
  t.equal(expiresAt, (today + 8 * 1440) * 60)
  await writer.write({ minute: today - 9 * 1440, samples: [], halted: ['BTC'] })
  t.strictSame(await raw.keys('{kp}:halted:*'), [haltedKey('BTC', dateOf(today - 1440), 0)])
})
