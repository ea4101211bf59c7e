import { dateOf } from '@kimchi/core'
import t, { type Test } from 'tap'
import { openStore, sampleOf, samplesKey } from './fixtures.ts'

/** A day whose first hour of samples is gone. */
async function openFrozenDay(t: Test, daysAgo: number) {
  const store = await openStore(t, { coins: [] })
  const start = store.today - daysAgo * 1440
  const samples = [0, 1, 60, 61].map(at => sampleOf('BTC', start + at))
  await store.writer.write({ minute: start + 61, samples })
  await store.raw.del(samplesKey('BTC', dateOf(start), 0))
  const check = () => store.ask('kp_check', 'BTC')
  return { ...store, start, samples, check }
}

t.test('the live row goes on while its day is frozen', async t => {
  const { writer, reader, start } = await openFrozenDay(t, 0)
  await writer.track([{ symbol: 'BTC', name: 'Bitcoin', upbit: 'KRW-BTC', binance: 'BTCUSDT' }])
  await writer.write({ minute: start + 62, samples: [sampleOf('BTC', start + 62)] })
  t.equal((await reader.readBoard()).rows[0]?.minute, start + 62)
})

// docs/faults.md, 43
t.test('kp_check says that a day is frozen, and which minutes are still stored', async t => {
  const { check, raw, start } = await openFrozenDay(t, 1)
  const date = dateOf(start)
  const verdict = `only minutes after ${date}T01:01:00 are stored from now on`
  t.strictSame(await check(), [`${date} FROZEN row counts 4, 2 are stored: ${verdict}`])
  await raw.del(samplesKey('BTC', date, 1))
  t.strictSame(await check(), [`${date} FROZEN row counts 4, 0 are stored: ${verdict}`])
})

// docs/faults.md, 42
t.test(
  'what would be refused is not open: a frozen day, an expired one, a whole day that was imported',
  async t => {
    const { writer, reader, start, raw } = await openFrozenDay(t, 1)
    t.strictSame(await reader.readOpenMinutes('BTC', start, start + 70), [
      { start: start + 62, end: start + 70 },
    ])
    const expired = start - 8 * 1440
    t.strictSame(await reader.readOpenMinutes('BTC', expired, expired + 5), [])
    const row = { open: 1, high: 1, low: 1, close: 1, sum: 1440, samples: 1440 }
    const day = { ...row, date: dateOf(expired), firstMinute: expired, lastMinute: expired + 1439 }
    t.equal(await writer.importDay('BTC', day), 'stored')
    await raw.hset('{kp}:meta', 'retention', 30)
    t.strictSame(await reader.readOpenMinutes('BTC', expired, expired + 1440), [], 'the retention was raised')
  },
)
