import t from 'tap'
import type { CompressedBody } from '../src/documents/document.ts'
import { boardOf, daysBefore, MINUTE, openTestApp, rowOf } from './board.ts'
import { DAILY, LIVE } from './raw.ts'
import { ask, eventually } from './stack.ts'

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Retry-After, Age, Date',
}

t.test('the live route answers the list, in the board’s order, and the newest of its times', async t => {
  const rows = [rowOf('BTC', MINUTE - 2), rowOf('ETH', MINUTE)]
  const { app } = await openTestApp(t, boardOf(MINUTE, ['BTC', 'ETH', 'NEW'], { rows }))
  const { statusCode, headers, payload } = await app.inject(LIVE)
  t.equal(statusCode, 200)
  t.match(headers, { ...CORS, 'content-type': 'application/json; charset=utf-8', vary: 'Accept-Encoding' })
  t.equal(headers['content-length'], String(payload.length))
  t.equal(headers['cache-control'], 'public, max-age=61, stale-while-revalidate=2, stale-if-error=600')
  t.strictSame(JSON.parse(payload), {
    result: 'ok',
    updated_at: '2026-11-20T13:05:00',
    count: 2,
    note: 'Premium is USDT-based (Upbit KRW-USDT last price). Times are UTC.',
    data: [
      {
        symbol: 'BTC',
        name: 'Bitcoin',
        premium_pct: 1.2345,
        upbit_krw: 143500000,
        binance_usdt: 101250.5,
        usdt_krw: 1400,
        snapshot_at: '2026-11-20T13:03:00',
      },
      JSON.parse(rows[1]?.json ?? ''),
    ],
  })
})

t.test('the daily route answers one coin’s days', async t => {
  const { app, reader } = await openTestApp(t)
  reader.days.set('BTC', daysBefore('2026-11-20', 400))
  const all = await app.inject(DAILY)
  t.equal(all.statusCode, 200)
  t.match(all.json(), { result: 'ok', symbol: 'BTC', name: 'Bitcoin', count: 365 })
  t.equal(all.json().data.at(-1).date, '2026-11-20', 'today last')
  t.equal(all.json().data.length, 365)
  t.equal((await app.inject(`${DAILY}?days=3650`)).json().count, 401)
  t.equal((await app.inject(`${DAILY}?days=1`)).json().count, 1)
  t.equal((await app.inject(`${DAILY}?other=x&days=7&days2=9`)).json().count, 7, 'other keys are ignored')
  t.equal((await app.inject(`${LIVE}?days=x`)).statusCode, 200, 'days means nothing to the live route')
})

t.test('accepts the symbol in any letter case and answers in upper case', async t => {
  const { app } = await openTestApp(t)
  for (const symbol of ['btc', 'Btc', 'BTC', '%42tc']) {
    const answer = await app.inject(`${LIVE}/${symbol}/daily`)
    t.equal(answer.json().symbol, 'BTC', symbol)
  }
})

t.test('a tracked coin without history is 200 with no rows', async t => {
  const { app } = await openTestApp(t, boardOf(MINUTE, ['BTC'], { todayRows: new Map() }))
  const answer = await app.inject(DAILY)
  t.equal(answer.statusCode, 200)
  t.strictSame(answer.json(), { result: 'ok', symbol: 'BTC', name: 'Bitcoin', count: 0, data: [] })
})

t.test('a coin that is no longer tracked keeps its readable history', async t => {
  const board = boardOf(MINUTE)
  const [coin] = board.coins
  const gone = { ...coin, symbol: 'OLD', name: 'Old', upbit: '', binance: '', order: undefined }
  const { app, reader } = await openTestApp(t, { ...board, coins: [...board.coins, gone] })
  reader.days.set('OLD', daysBefore('2026-10-01', 3))
  t.match((await app.inject(`${LIVE}/OLD/daily`)).json(), { name: 'Old', count: 3 })
})

const wrong: readonly [title: string, url: string, status: number, code: string, message: RegExp][] = [
  ['days of 0', `${DAILY}?days=0`, 400, 'invalid_days', /days must be an integer from 1 to 3650.*got: "0"$/],
  ['days of 3651', `${DAILY}?days=3651`, 400, 'invalid_days', /got: "3651"$/],
  ['days that are no number', `${DAILY}?days=abc`, 400, 'invalid_days', /got: "abc"$/],
  ['days that begin with one', `${DAILY}?days=7x`, 400, 'invalid_days', /got: "7x"$/],
  ['days as a fraction', `${DAILY}?days=7.0`, 400, 'invalid_days', /got: "7.0"$/],
  ['days in powers of ten', `${DAILY}?days=1e3`, 400, 'invalid_days', /got: "1e3"$/],
  ['days with a leading zero', `${DAILY}?days=07`, 400, 'invalid_days', /got: "07"$/],
  ['days without a value', `${DAILY}?days=`, 400, 'invalid_days', /got: ""$/],
  ['days given twice', `${DAILY}?days=7&days=7`, 400, 'invalid_days', /given once, got: "7,7"$/],
  ['a symbol with other characters', `${LIVE}/BTC-USD/daily`, 400, 'invalid_symbol', /got: "BTC-USD"$/],
  ['a symbol that is too long', `${LIVE}/${'A'.repeat(21)}/daily`, 400, 'invalid_symbol', /got: "A{21}"$/],
  ['a very long symbol', `${LIVE}/${'A'.repeat(5_000)}/daily`, 400, 'invalid_symbol', /got: "A{63}…$/],
  ['no symbol', `${LIVE}//daily`, 400, 'invalid_symbol', /got: ""$/],
  ['a coin that is not tracked', `${LIVE}/DOGE/daily`, 404, 'unknown_symbol', /not tracked, got: "DOGE"$/],
  ['the root', '/', 404, 'no_such_route', /kimchi-premium and .*daily, got: "\/"$/],
  ['a trailing slash', `${LIVE}/`, 404, 'no_such_route', /got/],
]

for (const [title, url, status, code, message] of wrong) {
  t.test(`${title}: ${status} ${code}`, async t => {
    const { app } = await openTestApp(t)
    const answer = await app.inject(url)
    t.equal(answer.statusCode, status)
    t.match(answer.headers, { ...CORS, 'content-type': 'application/json; charset=utf-8' })
    t.equal(answer.headers['cache-control'], 'public, max-age=60')
    t.equal(answer.headers['content-length'], String(Buffer.byteLength(answer.payload)))
    t.match(answer.json(), { result: 'error', code, message })
    t.strictSame(Object.keys(answer.json()), ['result', 'code', 'message'])
  })
}

t.test('a history that is replaced while it is compressed is answered all the same', async t => {
  const { listen, documents, reader } = await openTestApp(t)
  reader.days.set('BTC', daysBefore('2026-11-20', 400))
  await documents.load('BTC')
  const before = documents.history('BTC', 365)
  const compressed = before?.compressed as CompressedBody
  const make = compressed.make.bind(compressed)
  compressed.make = async coding => {
    reader.board = boardOf(MINUTE + 1)
    documents.onMinute(MINUTE + 1)
    await eventually('the next one', () => documents.history('BTC', 365) !== before)
    await make(coding)
  }
  const url = `http://127.0.0.1:${await listen()}${DAILY}`
  t.match(await ask(url, { 'accept-encoding': 'gzip' }), {
    status: 200,
    headers: { 'content-encoding': 'gzip' },
  })
})

t.test('answers are counted by route and status', async t => {
  const { app, counted } = await openTestApp(t)
  for (const url of [LIVE, LIVE, DAILY, `${LIVE}/DOGE/daily`, '/', '/%zz']) await app.inject(url)
  t.equal(await counted('live', 200), 2)
  t.equal(await counted('daily', 200), 1)
  t.equal(await counted('daily', 404), 1)
  t.equal(await counted('other', 404), 1)
  t.equal(await counted('other', 400), 1)
})
