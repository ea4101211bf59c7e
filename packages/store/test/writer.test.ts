import { foldDays, toLiveRow } from '@kimchi/core'
import t from 'tap'
import { BTC, ETH, openStore, sampleOf, todayMinutes } from './fixtures.ts'

t.test('what is written is what is read', async t => {
  const { connection, writer, reader } = await openStore(t)
  const { now } = await todayMinutes(connection)
  await writer.track([BTC, ETH])
  const btc = sampleOf('BTC', now)
  const eth = sampleOf('ETH', now, 5_123_456.75)
  t.strictSame(await writer.write({ minute: now, samples: [eth, btc] }), {
    stored: 2,
    duplicates: 0,
    refused: 0,
    removed: 0,
  })
  const board = await reader.readBoard()
  t.strictSame(board.rows, [toLiveRow(btc, 'Bitcoin'), toLiveRow(eth, '이더리움 "E"')])
  t.strictSame(board.coins, [
    { ...BTC, order: 0 },
    { ...ETH, order: 1 },
  ])
  t.equal(board.prices, 'live')
  t.equal(board.corrupt, 0)
  t.strictSame([board.todays.get('BTC')], foldDays([btc]))
  t.strictSame(await reader.readDays('ETH'), { entries: foldDays([eth]), corrupt: 0 })
  t.strictSame(await reader.readSamples('BTC', now - 1, now + 1), { entries: [btc], corrupt: 0 })
})
