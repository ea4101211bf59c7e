import { dateOf, type SettledReason } from '@kimchi/core'
import t from 'tap'
import { BTC, openStore, rowOf, sampleOf, samplesKey, settledKey } from './fixtures.ts'

const settled = (minute: number, reason: SettledReason = 'halted', symbol = 'BTC') => ({
  symbol,
  minute,
  reason,
})

t.test('samples and settled minutes of one write make whole hours', async t => {
  const { writer, reader, raw, today } = await openStore(t)
  const start = today - 1440
  const minutes = Array.from({ length: 120 }, (_, at) => start + at)
  const isGap = (minute: number) => minute % 7 === 0
  const result = await writer.write({
    minute: start + 119,
    samples: minutes.filter(minute => !isGap(minute)).map(minute => sampleOf('BTC', minute)),
    settled: minutes.filter(isGap).map(minute => settled(minute, 'no-rate')),
  })
  t.match(result, { stored: 120 - result.settled, duplicates: 0, refused: [] })
  t.strictSame(await reader.readOpenMinutes('BTC', start, start + 120), [])
  const hour = Array.from({ length: 60 }, (_, at) => sampleOf('BTC', start + 120 + at))
  await writer.write({ minute: start + 179, samples: hour })
  await raw.call('CONFIG', 'RESETSTAT')
  await reader.readOpenMinutes('BTC', start + 120, start + 180)
  t.notMatch(await raw.info('commandstats'), /cmdstat_zrange/, 'an hour of samples is only counted')
  const gap = Number(minutes.find(isGap))
  await raw.zremrangebyscore(settledKey('BTC', dateOf(start), 0), gap, gap)
  t.strictSame(await reader.readOpenMinutes('BTC', start, start + 120), [{ start: gap, end: gap + 1 }])
})

t.test('settled minutes are kept as long as the samples of their day', async t => {
  const { writer, raw, today } = await openStore(t)
  const entries = [settled(today - 1440), settled(today - 9 * 1440)]
  t.match(await writer.write({ minute: today, samples: [], settled: entries }), { settled: 1 })
  const key = settledKey('BTC', dateOf(today - 1440), 0)
  t.strictSame(await raw.keys('{kp}:settled:*'), [key])
  // Yesterday is kept for 8 whole days, by the fixtures' retention.
  t.equal(Number(await raw.call('EXPIRETIME', key)), (today + 8 * 1440) * 60)
})

// docs/faults.md, 39
t.test('a halted coin leaves the list, and no minute from before the halt brings it back', async t => {
  const { writer, reader, raw, rows, now } = await openStore(t, { coins: [BTC] })
  await writer.write({ minute: now - 9, samples: [sampleOf('BTC', now - 9)] })
  await writer.write({ minute: now - 9, samples: [], halted: ['BTC'] })
  t.equal(await rows(), 'BTC', 'its row is as new as the halt')
  for (const minute of [now - 7, now - 4]) await writer.write({ minute, samples: [], halted: ['BTC'] })
  t.equal(await rows(), '')
  t.match(await writer.write({ minute: now - 6, samples: [sampleOf('BTC', now - 6)] }), { stored: 1 })
  // The queue sends what Redis has confirmed again after a reconnect.
  await writer.write({ minute: now - 7, samples: [], halted: ['BTC'] })
  t.match(await writer.write({ minute: now - 5, samples: [sampleOf('BTC', now - 5)] }), { stored: 1 })
  t.equal(await rows(), '', 'its minutes are stored, its row is not')
  await writer.write({ minute: now - 3, samples: [sampleOf('BTC', now - 3)] })
  t.strictSame((await reader.readBoard()).rows, [rowOf(sampleOf('BTC', now - 3))], 'it trades again')
  t.strictSame(await raw.hgetall('{kp}:halted'), {})
  await writer.write({ minute: now + 600, samples: [], halted: ['BTC'] })
  await writer.write({ minute: now + 2, samples: [sampleOf('BTC', now + 2)] })
  t.equal(await rows(), 'BTC', 'a halt from the future, by Redis’ clock, does not keep it off')
})

t.test(
  'any member settles the minute of its score, and settling replaces one that cannot be read',
  async t => {
    const { writer, reader, raw, ask, today } = await openStore(t, { coins: [BTC] })
    const start = today - 1_440
    const date = dateOf(start)
    const key = settledKey('BTC', date, 0)
    const open = () => reader.readOpenMinutes('BTC', start, start + 60)
    const minutes = Array.from({ length: 59 }, (_, at) => start + at)
    await writer.write({
      minute: start,
      samples: [],
      settled: minutes.map(minute => settled(minute, 'no-rate')),
    })
    // Of a minute that is settled, between two minutes, and of another hour.
    await raw.zadd(key, start + 3, 'odd', start + 7.5, 'odder', start + 90, `${start + 90} halted`)
    t.strictSame(await open(), [{ start: start + 59, end: start + 60 }], 'the 60th minute is seen')
    await raw.zadd(key, start + 59, '\xff')
    t.strictSame(await open(), [], 'and settled by a text that nobody can read')
    t.match(
      (await ask('kp_gaps', 'BTC', date)).join('\n'),
      /^00:59 to 00:59 .*settled, no reason can be read$/m,
    )
    for (const minute of [start + 3, start + 59]) {
      const again = { minute, samples: [], settled: [settled(minute, 'upbit-down')] }
      t.match(await writer.write(again), { settled: 0 })
      t.strictSame(await raw.zrangebyscore(key, minute, minute), [`${minute} upbit-down`])
    }
  },
)

// docs/faults.md, 89
t.test('what is implausible is open to ALLOW, and to all where an older version settled it', async t => {
  const { writer, reader, raw, ask, today } = await openStore(t)
  const start = today - 1_440
  const key = settledKey('BTC', dateOf(start), 0)
  const open = async (allowed: boolean) => {
    const ranges = await reader.readOpenMinutes('BTC', start, start + 3, allowed)
    return ranges.map(({ start: from, end }) => [from - start, end - start])
  }
  const decide = (at: number, reason: SettledReason) =>
    writer.write({ minute: start, samples: [], settled: [settled(start + at, reason)] })
  await decide(0, 'implausible')
  await raw.zadd(key, start + 1, `${start + 1} implausible`)
  await decide(2, 'no-rate')
  t.strictSame(await ask('kp_missing', 'BTC', start, start + 3), [], 'to older versions none is')
  t.strictSame(await open(false), [[1, 2]])
  t.strictSame(await open(true), [[0, 2]])
  await decide(1, 'implausible')
  t.strictSame(await open(false), [], 'it was decided once more')
  // As an ingester of a version before settles it.
  const prices = ['1', 'live', '1', '8']
  const again = ['0', '1', 'BTC', String(start + 1), 'implausible', String(start), '0']
  await raw.call('FCALL', 'kp_write', '1', '{kp}:meta', ...prices, ...again)
  t.strictSame(await open(false), [], 'and an older version does not open it again')
  await decide(0, 'impossible')
  t.strictSame(await open(true), [[1, 2]], 'what is decided of an opened one replaces its reason')
  await decide(1, 'upbit-down')
  await decide(1, 'implausible')
  t.strictSame(await open(true), [], 'and stays')
  t.strictSame(await raw.zrange(key, 0, '-1'), [
    `${start} impossible`,
    `${start + 1} upbit-down`,
    `${start + 2} no-rate`,
  ])
})

t.test('an implausible minute of a frozen day is not open, for no sample of it would be stored', async t => {
  const { writer, reader, raw, today } = await openStore(t)
  const start = today - 1_440
  const hour = Array.from({ length: 50 }, (_, at) => sampleOf('BTC', start + 10 + at))
  await writer.write({ minute: start, samples: hour, settled: [settled(start + 2, 'implausible')] })
  await raw.zremrangebyscore(samplesKey('BTC', dateOf(start), 0), start + 20, start + 30)
  t.strictSame(await reader.readOpenMinutes('BTC', start, start + 10, true), [])
})
