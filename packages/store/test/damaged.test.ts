import { dateOf } from '@kimchi/core'
import t from 'tap'
import { BTC, dailyKey, ETH, openStore, sampleOf, samplesKey, settledKey } from './fixtures.ts'

for (const [name, keyOf] of [
  ['days', () => dailyKey('ETH')],
  ['samples', (date: string) => samplesKey('ETH', date, 0)],
  ['settled minutes', (date: string) => settledKey('ETH', date, 0)],
] as const) {
  t.test(`a key of a coin's ${name} that is of a wrong type holds up that coin alone`, async t => {
    const { writer, reader, raw, ask, log, today } = await openStore(t, { coins: [BTC, ETH] })
    const key = keyOf(dateOf(today))
    await raw.set(key, 'not ours')
    const write = (at: number) => {
      const samples = ['ETH', 'BTC'].map(symbol => sampleOf(symbol, today + at))
      return writer.write({ minute: today + at, samples, halted: ['ETH'] })
    }
    t.match(await write(0), {
      stored: 1,
      refused: [{ symbol: 'ETH', minute: today, reason: 'damaged' }],
    })
    t.match(log.lines.at(-1), {
      level: 'warn',
      message: /wrong type/,
      fields: { samples: 1, coins: ['ETH'] },
    })
    t.equal(await raw.get(key), 'not ours')
    t.strictSame(await reader.readOpenMinutes('ETH', today, today + 9), [], 'nobody need fetch its candles')
    t.strictSame(await reader.readOpenMinutes('BTC', today, today + 2), [
      { start: today + 1, end: today + 2 },
    ])
    const entries = [{ symbol: 'ETH', minute: today + 5, reason: 'no-rate' }] as const
    await writer.write({ minute: today, samples: [], settled: entries })
    const status = await ask('kp_status')
    t.match(
      status.find(line => line.startsWith('BTC')),
      / fresh /,
    )
    await t.rejects(ask('kp_check', 'ETH'), { message: key })
    await raw.del(key)
    t.match(await write(1), { stored: 2, refused: [] })
    t.match(await reader.readOpenMinutes('ETH', today, today + 1), [{ start: today, end: today + 1 }])
  })
}

t.test("a coin's unreadable field in the list of coins or of live rows harms nobody", async t => {
  const { writer, reader, raw, today } = await openStore(t, { coins: [BTC, ETH] })
  for (const key of ['{kp}:coins', '{kp}:live']) await raw.hset(key, 'ETH', '\xff{')
  const samples = ['ETH', 'BTC'].map(symbol => sampleOf(symbol, today))
  t.match(await writer.write({ minute: today, samples }), { stored: 2, refused: [] })
  await writer.announce('a', {})
  t.match(await reader.readBoard(), { rows: [{ symbol: 'BTC' }, { symbol: 'ETH' }], corrupt: 0 })
})

// docs/faults.md, 65
t.test('a shared key of a wrong type stops a write before it has changed anything', async t => {
  const { writer, raw, now } = await openStore(t, { coins: [BTC] })
  for (const name of ['meta', 'coins', 'live', 'revisions', 'halted', 'tracked']) {
    const key = `{kp}:${name}`
    await raw.rename(key, 'aside').catch(() => {})
    await raw.set(key, 'not ours')
    const before = await raw.keys('*')
    const write = writer.write({ minute: now, samples: [sampleOf('BTC', now)] })
    await t.rejects(write, { code: 'KIMCHI_ERR_REDIS_REFUSES', message: /WRONGTYPE/ }, name)
    t.strictSame(await raw.keys('*'), before)
    await raw.del(key)
    await raw.rename('aside', key).catch(() => {})
  }
  t.match(await writer.write({ minute: now, samples: [sampleOf('BTC', now)] }), { stored: 1 })
})
