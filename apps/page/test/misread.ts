import { eventually } from '@kimchi/testkit'
import type { Browser, Page } from '@kimchi/testkit/chromium'
import type { Test } from 'tap'
import { changeSince } from '../src/coin/days.ts'
import { type Answers, goodAnswers, historyOf, liveListOf, minuteAt, oldRow, withRows } from './answers.ts'
import { type Open, testPages } from './views.ts'

const ROWS = '.coins tbody tr'
const HOUR_MS = 3_600_000

/** Numbers that a reader could take for what they are not. */
export async function misread(t: Test, browser: Browser, base: string): Promise<void> {
  await testPages(t, browser, base, {
    // docs/faults.md, 110
    'a coin whose row is older than the list says since when, wherever it stands': staleCoin,
    'a list without new minutes gives no number to title, summary, head and alerts': staleList,
    'a list of an earlier visit is marked with its time while nobody has answered': secondVisit,
    'an answer that is an error, or a limit, is not called no answer': apiFailing,
    // docs/faults.md, 111
    'of 200 coins each on the screen has its day change, and they are sorted by it': manyCoins,
    'until a day has its first row, a coin’s change counts from the close before the last one': firstMinute,
  })
}

const textOf = (page: Page, selector: string) => page.locator(selector).textContent()

/** Answers with a history of the coin whose row is old. */
function withOldRow(): Answers {
  const { list, histories } = goodAnswers()
  return {
    list: oldRow(list),
    histories: { ...histories, SOL: historyOf('SOL', 'Solana', list.updated_at, 60) },
  }
}

async function staleCoin(t: Test, open: Open) {
  const { page } = await open(t, withOldRow())
  await page.waitForSelector(`${ROWS}[data-symbol=BTC] .change`)
  t.match(await textOf(page, '.simulated'), 'SIMULATED')
  t.strictSame(await page.locator('tr.stale strong').allTextContents(), ['SOL'])
  t.equal(await page.locator('[data-symbol=SOL] .change').count(), 0, 'no change of a row that is old')
  t.match(await textOf(page, '[data-symbol=SOL] .why'), /^No new data since .*\d\d:\d\d UTC$/)
  t.notMatch(await textOf(page, '.summary'), /SOL/)
  const won = page.locator('[data-symbol=DOGE] :is(.gap, .krw, .binance)')
  t.strictSame(await won.allTextContents(), ['+4.91', '245.3', '240.39'], 'won add up as they are written')
  await page.locator('[data-symbol=SOL] a').click()
  await page.waitForSelector('.days tbody tr')
  t.match(await textOf(page, '.head .why'), /^No new data since (\d{4}-\d\d-\d\d )?\d\d:\d\d UTC$/)
  t.equal(await page.locator('.head .change').count(), 0)
  t.match(
    await textOf(page, '.figures'),
    /in steps of 100 KRW, USDT of 1 KRW: the premium is exact to 0\.11 pp/,
  )
  t.equal(await page.title(), 'SOL · Kimchi premium (USDT)')
}

const MEDIAN_ALERT = `localStorage.setItem('kimchi.bands', '{"median":{"above":-99}}')`

async function staleList(t: Test, open: Open) {
  const good = goodAnswers()
  const old = liveListOf(minuteAt(Date.now() - 10 * 60_000))
  const { page } = await open(t, { ...good, list: old }, { script: MEDIAN_ALERT })
  // A busy machine may need a minute or two to open the page.
  await page
    .getByText(/^The service is running, but has no newer prices\. Prices are from .* \(1\d min ago\)\.$/)
    .waitFor()
  t.equal(await page.title(), 'Kimchi premium (USDT)')
  t.equal(await page.locator('.summary data').count(), 0)
  t.equal(await page.locator('.firing').count(), 0)
  t.equal(await page.locator(`${ROWS}:not(.stale)`).count(), 0)
  await page.locator('.coin a').first().click()
  await page.waitForSelector('.days tbody tr')
  t.match(await textOf(page, '.head .why'), /No new data since/)
  t.equal(await page.title(), 'BTC · Kimchi premium (USDT)')
}

async function secondVisit(t: Test, open: Open) {
  let answer = () => {}
  const held = new Promise<void>(resolve => {
    answer = resolve
  })
  const old = JSON.stringify(liveListOf(minuteAt(Date.now() - 30 * HOUR_MS)))
  const { page, asked } = await open(t, goodAnswers(), {
    script: `localStorage.setItem('kimchi.live', ${JSON.stringify(old)})`,
    prepare: page =>
      page.route('**/api/**', async route => {
        await held
        await route.continue()
      }),
  })
  const notice = await textOf(page, '.trouble')
  t.match(notice, /^Loading the newest prices… Prices are from [\d-]{10} \d\d:\d\d UTC \(30 hr ago\)\.$/)
  t.equal(await page.title(), 'Kimchi premium (USDT)')
  t.equal(await page.locator('.summary data').count(), 0)
  await page.goto(`${page.url()}#/BTC`)
  await page.waitForSelector('.head .why')
  t.notMatch(await textOf(page, 'main'), /No answer|no newer prices|Not in the live list/)
  const api = asked.filter(url => url.includes('/api/'))
  t.strictSame(
    api.filter(url => !url.endsWith('/kimchi-premium')),
    [],
    'nothing beside the list before it has answered',
  )
  answer()
  await page.waitForSelector('.days tbody tr')
  await page.waitForSelector('.trouble', { state: 'detached' })
  t.match(await page.title(), /^\+1\.23% · BTC/)
}

async function apiFailing(t: Test, open: Open) {
  for (const [status, words] of [
    [500, 'The API answers with an error. Retrying automatically.'],
    [429, 'Too many requests came from this address. Retrying automatically.'],
  ] as const) {
    const prepare = (page: Page) =>
      page.route('**/api/**', route => route.fulfill({ status, body: '<h1>No JSON</h1>' }))
    const { page } = await open(t, goodAnswers(), { prepare })
    await page.getByText(words).waitFor()
  }
}

async function manyCoins(t: Test, open: Open) {
  const rows = Array.from({ length: 200 }, (_, n) => ({ symbol: `C${n}`, premium_pct: n / 100 }))
  const { list } = withRows(goodAnswers(), rows)
  const history = historyOf('BTC', 'Bitcoin', list.updated_at, 2)
  const histories = Object.fromEntries(rows.map(({ symbol }) => [symbol, { ...history, symbol }]))
  const { page, asked } = await open(t, { list, histories })
  const daily = () => asked.filter(url => url.endsWith('/daily?days=2')).length
  /** Rows on the screen, and those of them with a change. */
  const seen = () =>
    page.locator(ROWS).evaluateAll(rows => {
      const shown = rows.filter(row => {
        const { top, bottom } = row.getBoundingClientRect()
        return bottom > 0 && top < innerHeight
      })
      return { rows: shown.length, changes: shown.filter(row => row.querySelector('.change')).length }
    })
  const untilAll = () =>
    eventually('a change in every row', async () => {
      const { rows, changes } = await seen()
      return rows > 0 && rows === changes
    })
  await page.waitForSelector(ROWS)
  await untilAll()
  t.ok(daily() < 100, `only what is on the screen: ${daily()}`)
  for (let screen = 0; screen < 3; screen += 1) {
    await page.evaluate('scrollBy(0, innerHeight)')
    await untilAll()
  }
  await page.evaluate('scrollTo(0, 0)')
  await page.locator('.coins thead .since button').click()
  await eventually('all of them', async () => (await page.locator(`${ROWS} .change`).count()) === 200)
  t.equal(await textOf(page, `${ROWS}:first-child strong`), 'C199')
  const change = page.locator(`${ROWS}:first-child .change data`)
  const yesterday = history.data[0]?.close_pct ?? 0
  t.equal(await change.getAttribute('value'), `${Math.round(10_000 * (1.99 - yesterday)) / 10_000}`)
  t.equal(daily(), 200, 'each once')
}

async function firstMinute(t: Test, open: Open) {
  const midnight = Math.ceil(Date.now() / (24 * HOUR_MS)) * 24 * HOUR_MS
  const list = liveListOf(minuteAt(midnight))
  const BTC = historyOf('BTC', 'Bitcoin', list.updated_at, 8)
  const clockFrom = midnight + 10_000
  const { page } = await open(t, { list, histories: { BTC } }, { hash: '#/BTC', clockFrom })
  const change = page.locator('.head .change data')
  t.equal(await change.getAttribute('value'), `${changeSince(BTC.data.at(-2)?.close_pct, 1.2341)}`)
}
