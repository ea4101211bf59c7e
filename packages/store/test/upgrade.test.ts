import { readFileSync } from 'node:fs'
import { foldDays, formatTimestamp, type Sample } from '@kimchi/core'
import t, { type Test } from 'tap'
import { encodeSample } from '../src/codec.ts'
import { LIBRARY_VERSION } from '../src/library.ts'
import { BTC, ETH, openStore, sampleOf, todayMinutes } from './fixtures.ts'

/** The library of the version before, as it was shipped. */
const LIBRARY_2 = readFileSync(new URL('lua/kimchi-2.lua', import.meta.url), 'utf8')

/** An ingester of the version before: its calls, argument by argument. */
async function openVersion2(t: Test) {
  const store = await openStore(t)
  const { raw } = store
  const { now, today } = await todayMinutes(store.connection)
  const call = (name: string, ...args: (string | number | Buffer)[]) =>
    raw.call('FCALL', name, '1', '{kp}:meta', 2, 'live', 1, ...args) as Promise<unknown>
  const write2 = ({ symbol, minute, premiumE4, ...sample }: Sample) => {
    const live = `{"symbol":"${symbol}","snapshot_at":"${formatTimestamp(minute)}"}`
    const member = encodeSample({ symbol, minute, premiumE4, ...sample })
    return call('kp_write', 8, 1, symbol, minute, premiumE4, member, live, 0) as Promise<number[]>
  }
  const track2 = () =>
    call('kp_track', 1, 'ETH', '{"order":0,"name":"Ether","upbit":"KRW-ETH","binance":"ETHUSDT"}', 0)
  const load2 = () => raw.call('FUNCTION', 'LOAD', 'REPLACE', LIBRARY_2)
  const listed = async () =>
    (await store.reader.readBoard()).coins
      .filter(({ order }) => order !== undefined)
      .map(({ symbol }) => symbol)
  return { ...store, now, today, write2, track2, load2, listed }
}

t.test('the new version takes over from the one before, which goes on beside it', async t => {
  const { writer, reader, raw, today, write2, track2, load2, listed } = await openVersion2(t)
  await load2()
  await track2()
  t.equal((await write2(sampleOf('ETH', today)))[0], 1)
  await writer.track([BTC])
  t.match(
    await raw.call('FUNCTION', 'LIST', 'WITHCODE').then(String),
    new RegExp(`VERSION = ${LIBRARY_VERSION}`),
  )
  t.match(await writer.write({ minute: today + 1, samples: [sampleOf('BTC', today + 1)] }), { stored: 1 })
  t.strictSame((await write2(sampleOf('ETH', today + 1))).slice(0, 6), [1, 0, 0, 0, 0, 2])
  t.strictSame(
    (await write2(sampleOf('ETH', today + 1))).slice(0, 2),
    [0, 1],
    'and repeats itself without harm',
  )
  await track2()
  t.strictSame(await listed(), ['BTC', 'ETH'])
  const minutes = [today, today + 1].map(minute => sampleOf('ETH', minute))
  t.strictSame((await reader.readDays('ETH')).entries, foldDays(minutes))
  t.strictSame((await reader.readSamples('ETH', today, today + 9)).entries, minutes)
})

t.test('rolled back, the version before goes on with the newer library and loses nothing', async t => {
  const { writer, reader, raw, today, write2, track2, listed } = await openVersion2(t)
  await writer.track([ETH])
  await writer.write({ minute: today, samples: [sampleOf('ETH', today)] })
  await track2()
  t.equal((await write2(sampleOf('ETH', today + 1)))[0], 1)
  t.strictSame(await listed(), ['ETH'])
  const minutes = [today, today + 1].map(minute => sampleOf('ETH', minute))
  t.strictSame((await reader.readDays('ETH')).entries, foldDays(minutes))
  t.match(await raw.call('FCALL_RO', 'kp_check', '1', '{kp}:meta', 'ETH'), [/ ok 2 samples$/])
})

t.test('a reader of the new version understands what the library before replies', async t => {
  const { reader, today, write2, track2, load2, listed } = await openVersion2(t)
  await load2()
  await track2()
  await write2(sampleOf('ETH', today))
  t.strictSame(await listed(), ['ETH'])
  t.strictSame((await reader.readDays('ETH')).entries, foldDays([sampleOf('ETH', today)]))
  t.strictSame(await reader.readMissing('ETH', today, today + 2), [{ start: today + 1, end: today + 2 }])
})
