import { readFile } from 'node:fs/promises'
import type { History, LiveList } from '@kimchi/client'
import { eventually } from '@kimchi/testkit'
import type { Browser, Page } from '@kimchi/testkit/chromium'
import type { Test } from 'tap'
import { type Stack, startStack } from './stack.ts'
import { servePage } from './views.ts'
import { minuteOnScreen, readDays, readTable, type Visit, type VisitOptions, visit } from './visit.ts'

/** The numbers on the page are those of the API, from each minute to the next, and while it is away. */
export async function realApi(t: Test, browser: Browser): Promise<void> {
  const stack = await startStack(t)
  const base = await servePage(t, stack.api)
  const open: Open = (t, options) => visit(t, browser, base, options)
  await t.test('shows a coin’s days as they are in the API, and gives them as a file', t =>
    coin(t, open, stack),
  )
  await t.test('shows the same numbers as the API, also a minute later, asking nobody else', t =>
    aMinuteLater(t, open, stack),
  )
}

type Open = (t: Test, options?: VisitOptions) => Promise<Visit>

async function aMinuteLater(t: Test, open: Open, stack: Stack) {
  const { page, asked, complaints } = await open(t, { clockFrom: Date.now() })
  await page.waitForSelector('.coins tbody tr')
  await checkNumbers(t, page, await askLive(stack))
  await stack.writeNext()
  await page.clock.fastForward(70_000)
  const list = await askLive(stack)
  await eventually('it on screen', async () => (await minuteOnScreen(page)) === list.updated_at)
  await checkNumbers(t, page, list)
  t.strictSame(complaints, [], 'the policy was never broken')
  t.strictSame([...new Set(asked.map(url => new URL(url).origin))], [new URL(page.url()).origin])
  t.notOk(
    asked.some(url => url.includes('coin-view')),
    'the chart is loaded with a coin only',
  )
  await t.test('the last prices stay while the API is down, and new ones come when it is back', t =>
    apiDown(t, page, stack),
  )
}

async function apiDown(t: Test, page: Page, stack: Stack) {
  const coins = page.locator('.coins tbody tr')
  const count = await coins.count()
  await stack.killApi()
  await page.clock.fastForward(70_000)
  await page.waitForSelector('.trouble')
  t.match(
    await page.locator('.trouble').textContent(),
    /No answer from the API\. Prices are from .* UTC \(.* ago\)\. Retrying automatically\./,
  )
  t.equal(await coins.count(), count)
  await page.reload()
  await page.waitForSelector('.trouble')
  t.equal(await coins.count(), count, 'also after a reload')
  await stack.startApi()
  // Newer than the page's clock is ahead by now, or the list would be overdue.
  await stack.writeNext()
  await page.clock.fastForward(70_000)
  await page.waitForSelector('.trouble', { state: 'detached' })
  t.equal(await minuteOnScreen(page), (await askLive(stack)).updated_at)
}

async function checkNumbers(t: Test, page: Page, list: LiveList) {
  t.strictSame(
    await readTable(page),
    list.data.map(({ symbol, premium_pct, upbit_krw, binance_usdt }) => ({
      symbol,
      premium_pct,
      upbit_krw,
      binance_usdt,
    })),
    'in the order of the API',
  )
  const premiums = list.data.map(({ premium_pct }) => premium_pct).toSorted((a, b) => b - a)
  const [high = 0, low = 0] = [premiums[0], premiums.at(-1)]
  const header = await page
    .locator('.summary data')
    .evaluateAll(found => found.map(item => Number(item.getAttribute('value'))))
  const median = ((premiums[4] ?? 0) + (premiums[5] ?? 0)) / 2
  t.strictSame(header, [Math.round(median * 10_000) / 10_000, high, low, list.data[0]?.usdt_krw])
}

async function askLive({ api }: Stack): Promise<LiveList> {
  return (await fetch(`${api}/api/v1/kimchi-premium`)).json() as Promise<LiveList>
}

async function coin(t: Test, open: Open, { api }: Stack) {
  const history = async () => {
    const answer = await fetch(`${api}/api/v1/kimchi-premium/ETH/daily?days=90`)
    return ((await answer.json()) as History).data
  }
  const { page, asked, complaints } = await open(t)
  await page.getByRole('link', { name: 'ETH Ethereum' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForSelector('.days tbody tr')
  t.equal(await page.evaluate(() => document.activeElement?.tagName), 'MAIN', 'the focus follows')
  t.equal(await page.locator('main').evaluate(main => getComputedStyle(main).outlineStyle), 'none')
  const data = await history()
  t.ok(data.length > 30, 'whole days, a partial one and the running one')
  const shown = await readDays(page)
  const today = data.at(-1)
  t.strictSame(
    shown.slice(0, -1),
    data.slice(0, -1).map(day => ({
      ...day,
      dot: day.samples < 1440 ? 'partial' : '',
    })),
  )
  t.match(shown.at(-1), {
    date: today?.date,
    open_pct: today?.open_pct,
    dot: /running, as of \d\d:\d\d UTC/,
  })
  t.ok((await page.locator('.canvas canvas').count()) > 0, 'a chart is drawn')
  t.equal(
    await page.getByRole('link', { name: 'TradingView' }).getAttribute('href'),
    'https://www.tradingview.com/',
  )
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download CSV' }).click()
  const file = await saved
  t.equal(file.suggestedFilename(), 'SIMULATED-ETH-premium.csv', 'a demo’s file says so')
  const [head, ...lines] = (await readFile(await file.path(), 'utf8')).trim().split('\r\n')
  t.equal(head, 'date,open_pct,high_pct,low_pct,close_pct,avg_pct,samples,status')
  t.strictSame(
    lines.slice(0, -1),
    data.slice(0, -1).map(day => [...Object.values(day), day.samples < 1440 ? 'partial' : 'whole'].join(',')),
  )
  t.match(lines.at(-1), /,running$/)
  await page.getByRole('link', { name: 'All coins' }).click()
  await page.waitForSelector('.coins tbody tr')
  t.equal(await page.evaluate(() => document.activeElement?.textContent), 'ETH Ethereum', 'and comes back')
  await page.goto(`${page.url().split('#')[0]}#/NOPE`)
  await page.waitForSelector('[role=alert]')
  t.match(await page.locator('[role=alert]').textContent(), 'There is no coin NOPE here.')
  t.ok(asked.some(url => url.endsWith('/ETH/daily?days=90')))
  t.strictSame(
    complaints.filter(text => !text.includes('404')),
    [],
  )
}
