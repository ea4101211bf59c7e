import t from 'tap'
import { openLockstep } from '../support/lockstep.ts'
import { MARKET, MARKET_COINS, NEW } from '../support/market.ts'

// docs/faults.md, 25
t.test('coins are halted, marked, renamed, delisted and listed, and the others notice nothing', async t => {
  const { simulator, opened, read, pass, passUntil, start, wrongMinutes, minute } = await openLockstep(t, {
    coins: MARKET_COINS,
  })
  await start()
  await passUntil('the first minute', async () => (await read.live()).length === MARKET.length)
  const first = minute()
  t.strictSame(await read.live(), ['BTC', ...MARKET.slice(1).sort()])

  const undo = simulator.faults.set({ kind: 'halt', exchange: 'upbit', market: 'KRW-DOGE' })
  await pass(2)
  t.notOk(
    (await read.live()).includes('DOGE'),
    'a halted coin leaves within 120 s, without a frame that says so',
  )
  t.equal((await read.coins()).get('DOGE')?.order, 1, 'it is still tracked')
  undo()
  await pass(2.5)
  t.ok((await read.live()).includes('DOGE'), 'and is back within 150 s')

  const named = (symbol: string, changes: object) => {
    const coin = MARKET_COINS.find(({ id }) => id === symbol)
    if (coin?.upbit) simulator.list({ ...coin, upbit: { ...coin.upbit, ...changes } })
  }
  named('SOL', { warning: true })
  named('ADA', { englishName: 'Cardano (Ouroboros)' })
  const backAgain = simulator.delist('KRW-XRP')
  simulator.delist('TRXUSDT')
  simulator.list(NEW)
  // Either list may have been under way when the coin was taken from it.
  await passUntil('delisted coins leave', async () => {
    const coins = await read.coins()
    return ['TRX', 'XRP'].every(symbol => coins.get(symbol)?.order === undefined)
  })
  await pass(1.5)
  const coins = await read.coins()
  t.equal(coins.get('SOL')?.order, 1, 'a warning changes nothing')
  t.equal(coins.get('ADA')?.name, 'Cardano (Ouroboros)')
  t.equal(coins.get('XRP')?.order, undefined)
  t.equal(coins.get('TRX')?.order, undefined)
  t.match(coins.get('NEW'), { name: 'Nouveau ﬁn 币 🚀', order: 1 }, 'a new pair matches the market')
  t.strictSame(await read.live(), ['BTC', 'ADA', 'DOGE', 'ETH', 'LINK', 'NEW', 'SOL'])
  t.match(await read.status(), { held_back: '', tracked_coins: '7' })
  const past = await read.minutesOf('XRP')
  t.ok(past.length >= 3, 'what was stored of a delisted coin stays')

  const [releasedAt = 0] = await read.minutesOf('NEW')
  backAgain()
  await passUntil('XRP is back', async () => (await read.minutesOf('XRP')).length > past.length)
  t.equal((await read.status()).held_back, '', 'a coin that comes back is not judged again')

  for (const symbol of ['BTC', 'ETH', 'SOL', 'ADA', 'LINK']) {
    t.strictSame(await wrongMinutes(symbol, first, minute()), [], `${symbol} has lost no minute`)
  }
  t.strictSame(await wrongMinutes('NEW', releasedAt, minute()), [], 'nor has NEW since it was released')
  t.comment(`${opened.size} connections`)
  t.ok(opened.size <= 2 * (1 + 3), 'one more to each exchange for each of three changes at most')
})
