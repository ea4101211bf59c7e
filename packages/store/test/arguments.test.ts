import { dateOf, formatTimestamp } from '@kimchi/core'
import t from 'tap'
import { BTC, openStore, sampleOf } from './fixtures.ts'

// docs/faults.md, 113
t.test('no minute, however large or odd, holds up Redis', async t => {
  const { ask, raw } = await openStore(t, { coins: [BTC] })
  // A call that never ends is killed; the error of this one says so.
  await raw.call('CONFIG', 'SET', 'busy-reply-threshold', '1000')
  const kill = setInterval(() => void raw.duplicate().call('FUNCTION', 'KILL'), 1_500)
  t.teardown(() => clearInterval(kill))
  for (const name of ['kp_missing', 'kp_members', 'kp_samples']) {
    for (const digits of [16, 18, 19, 20]) {
      for (const sign of ['', '-']) {
        const minute = `${sign}1${'0'.repeat(digits - 1)}`
        const message = `KIMCHI_ARGUMENT from must be an integer, got: ${minute}`
        await t.rejects(ask(name, 'BTC', minute, minute), { message }, `${name} ${minute}`)
      }
    }
    for (const minute of ['-1', '-99999999999999', '999999999999999', '4223371680']) {
      const message = `KIMCHI_ARGUMENT from must be at least 0 and below 4223371680, got: ${minute}`
      await t.rejects(ask(name, 'BTC', minute, minute), { message }, `${name} ${minute}`)
    }
  }
  t.equal(await raw.ping(), 'PONG')
})

t.test('a writing call of bad arguments claims nothing on an empty Redis', async t => {
  const { raw } = await openStore(t, { coins: [] })
  await raw.flushall()
  const call = (name: string, ...args: (string | number)[]) =>
    raw.call('FCALL', [name, 1, '{kp}:meta', 1, 'live', 1, ...args])
  for (const [name, ...args] of [
    ['kp_verify', 'x'],
    ['kp_verify', 401],
    ['kp_write', 8, 1, 'BTC', '1e5'],
    ['kp_write', 8, 1, 'BTC', 4_223_371_680, 1, 'm', '{}', 0, 1, 0],
    ['kp_write', 8, 0, 0],
    ['kp_announce', 8, 'a', 180, 1, 0, 0, 1, 'version'],
    ['kp_import_day', 8, 'BTC', '2020-01-01', 1],
    ['kp_repair', 8, 'BTC', '2020-02-30'],
    ['kp_mend', 8, 'B TC'],
    ['kp_mend_days', 8, 'BTC', 0, 12, '2020-02-30'],
  ] as const) {
    const printed = `${name} ${args.join(' ')}`
    await t.rejects(call(name, ...args), { message: /^KIMCHI_ARGUMENT [^:]+, got: \S*( \S+)?$/ }, printed)
    t.strictSame(await raw.keys('*'), [], printed)
  }
})

t.test('people may write a date, a time and small letters', async t => {
  const { writer, ask, today } = await openStore(t, { coins: [BTC] })
  const start = today - 1_440
  const date = dateOf(start)
  await writer.write({ minute: start + 65, samples: [0, 59, 65].map(at => sampleOf('BTC', start + at)) })
  const samples = async (...times: string[]) =>
    (await ask('kp_samples', 'btc', ...times)).map(line => line.slice(0, 19))
  const stored = [0, 59, 65].map(at => formatTimestamp(start + at))
  t.strictSame(await samples(date), stored.slice(0, 2), 'its first hour')
  t.strictSame(await samples(date, `${date}T01:06`), stored)
  t.strictSame(await samples(`${date} 00:01`, `${date}T01:05:00Z`), stored.slice(1, 2))
  t.strictSame(await samples(`${date}T01:00:00`), stored.slice(2))
  t.strictSame(await samples(String(start)), stored.slice(0, 2))
  for (const wrong of [
    `${date}T24:00`,
    `${date}T12:60`,
    `${date}12:00`,
    `${date}T1:00`,
    '2026-02-30',
    'now',
  ]) {
    await t.rejects(samples(wrong), { message: /^KIMCHI_ARGUMENT from must be/ }, wrong)
  }
  t.match(await ask('kp_check', 'btc'), [/ ok 3 samples/])
  t.match(await ask('kp_gaps', 'btc', date), [/^BTC .*: 3 of 1440/])
  t.match(await ask('kp_history', 'btc'), [/^date/, new RegExp(`^${date} `)])
})
