import { readFile } from 'node:fs/promises'
import type { History, LiveList } from '@kimchi/client'
import { eventually } from '@kimchi/testkit'
import { findChromium, openChromium, type Page } from '@kimchi/testkit/chromium'
import t, { type Test } from 'tap'
import { type Stack, startStack } from './stack.ts'
import { PAGES_AT_A_TIME } from './views.ts'
import {
  installClock,
  liveListAt,
  look,
  minuteOnScreen,
  readDays,
  readTable,
  type Visit,
  type VisitOptions,
  visit,
} from './visit.ts'

const program = findChromium()
const LIVE = '**/api/v1/kimchi-premium'

t.test(
  'the page in a browser, in front of the real API',
  { skip: program === undefined && 'no chromium on PATH' },
  async t => {
    const stack = await startStack(t)
    const browser = await openChromium(program ?? '', t)
    const open = (options?: VisitOptions) => visit(browser, stack.page, options)
    const test = (title: string, run: (t: Test, open: Open, stack: Stack) => Promise<void>) =>
      t.test(title, { buffered: true }, t => run(t, open, stack))
    t.jobs = PAGES_AT_A_TIME
    await Promise.all([
      test('sorts, searches and keeps favourites', table),
      test('speaks the browser’s language until somebody switches', languages),
      test('shows a coin’s days as they are in the API, and gives them as a file', coin),
      test('says why a row is old, and that prices are simulated', staleRows),
      test('asks 60 times an hour while it is seen, never while hidden, once on return', anHour),
    ])
    await test('shows the same numbers as the API, also a minute later', aMinuteLater)
    await test('shows the last prices while the API is down, and recovers', apiDown)
  },
)

type Open = (options?: VisitOptions) => Promise<Visit>

async function aMinuteLater(t: Test, open: Open, stack: Stack) {
  const { page, context, asked, complaints } = await open({ prepare: installClock })
  await page.waitForSelector('.coins tbody tr')
  await checkNumbers(t, page, await askLive(stack))
  await stack.writeNext()
  await page.clock.fastForward(70_000)
  const list = await askLive(stack)
  await eventually('it on screen', async () => (await minuteOnScreen(page)) === list.updated_at)
  await checkNumbers(t, page, list)
  t.strictSame(complaints, [], 'the policy was never broken')
  t.ok(
    asked.every(url => url.startsWith(stack.page) || url.startsWith('blob:')),
    'nobody else was asked',
  )
  t.notOk(
    asked.some(url => url.includes('coin-view')),
    'the chart is loaded with a coin only',
  )
  await context.close()
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

async function table(t: Test, open: Open) {
  const { page, context } = await open()
  const symbols = async () => (await readTable(page)).map(({ symbol }) => symbol)
  const sorted = () =>
    page.locator('th[aria-sort]').evaluateAll(found => found.map(th => `${th.textContent} ${th.ariaSort}`))
  await page.waitForSelector('.coins tbody tr')
  t.strictSame(await sorted(), [])
  t.equal((await symbols())[0], 'BTC')
  await page.getByRole('button', { name: 'Coin', exact: true }).focus()
  await page.keyboard.press('Enter')
  t.strictSame(await sorted(), ['Coin↑ ascending'])
  t.strictSame(await symbols(), ['ADA', 'AVAX', 'BTC', 'DOGE', 'DOT', 'ETH', 'LINK', 'SOL', 'TRX', 'XRP'])
  await page.getByRole('searchbox').fill('bit')
  t.strictSame(await symbols(), ['BTC'])
  await page.getByRole('button', { name: 'Favourite BTC' }).click()
  await page.reload()
  await page.getByRole('button', { name: 'Favourites' }).click()
  t.strictSame(await symbols(), ['BTC'], 'kept on the device')
  await page.getByRole('searchbox').fill('eth')
  t.strictSame(await symbols(), [], 'searched among favourites alone')
  await page.getByRole('searchbox').fill('')
  await page.getByRole('button', { name: 'Favourite BTC' }).click()
  t.match(await page.locator('.empty').textContent(), 'No favourites yet')
  await context.close()
}

const KOREAN_HEADINGS = [
  '코인↕',
  '김프↕',
  '전일 대비',
  '차액(원)↕',
  '업비트(원)↕',
  '바이낸스(원)↕',
  '바이낸스(USDT)↕',
]
const ENGLISH_HEADINGS = [
  'Coin↕',
  'Premium↕',
  'Day change',
  'Gap in KRW↕',
  'Upbit KRW↕',
  'Binance in KRW↕',
  'Binance USDT↕',
]

async function languages(t: Test, open: Open) {
  const { page, context } = await open({ locale: 'ko-KR' })
  const headings = () => page.locator('.coins thead th').allTextContents()
  const colours = () =>
    page.evaluate(() =>
      ['--up', '--down'].map(name => getComputedStyle(document.documentElement).getPropertyValue(name)),
    )
  await page.waitForSelector('.coins tbody tr')
  t.strictSame(await headings(), KOREAN_HEADINGS)
  t.match(await page.locator('footer').textContent(), /USDT 기준.*KST.*한국 시각 오전 9시\(UTC 0시\)/)
  const korean = await colours()
  await page.getByRole('button', { name: 'English' }).click()
  await page.waitForSelector('html[lang=en]')
  t.strictSame(await headings(), ENGLISH_HEADINGS)
  t.match(await page.locator('footer').textContent(), /USDT basis.*UTC/)
  const english = await colours()
  t.equal(korean[0], english[1], 'red is up in Korean, down in English')
  t.not(korean[1], english[0], 'blue is down in Korean')
  await page.reload()
  await page.waitForSelector('.coins tbody tr')
  t.strictSame(
    await page.evaluate(() => [document.documentElement.lang, document.title.replace(/^\S+ /, '')]),
    ['en', 'Kimchi premium'],
    'a choice stays',
  )
  await context.close()
}

async function coin(t: Test, open: Open, { api }: Stack) {
  const history = async () => {
    const answer = await fetch(`${api}/api/v1/kimchi-premium/ETH/daily?days=90`)
    return ((await answer.json()) as History).data
  }
  const { page, context, asked, complaints } = await open()
  await page.getByRole('link', { name: 'ETH Ethereum' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForSelector('.days tbody tr')
  t.equal(await page.evaluate(() => document.activeElement?.tagName), 'MAIN', 'the focus follows')
  const data = await history()
  t.ok(data.length > 30, 'whole days, a partial one and the running one')
  const shown = await readDays(page)
  const today = data.at(-1)
  t.strictSame(
    shown.slice(0, -1),
    data.slice(0, -1).map(day => ({
      ...day,
      dot: day.samples < 1440 ? `partial, ${day.samples.toLocaleString('en')} of 1,440 minutes` : '',
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
  await context.close()
}

async function staleRows(t: Test, open: Open) {
  const { page, context } = await open({
    prepare: page =>
      page.route(LIVE, async route => {
        const response = await route.fetch()
        const list = (await response.json()) as LiveList
        const data = list.data.map(coin =>
          coin.symbol === 'SOL' ? { ...coin, snapshot_at: `${list.updated_at.slice(0, 11)}00:00:00` } : coin,
        )
        await route.fulfill({ response, json: { ...list, data } })
      }),
  })
  await page.waitForSelector('.coins tbody tr')
  t.match(await page.locator('.simulated').textContent(), 'SIMULATED')
  t.strictSame(await page.locator('tr.stale').evaluateAll(rows => rows.map(row => row.dataset.symbol)), [
    'SOL',
  ])
  t.match(await page.locator('tr.stale .why').textContent(), 'No new data since 00:00 UTC')
  await context.close()
}

/** A service in the page, on the page's own clock: an answer takes none of its time. */
const SERVICE = `
  const liveListAt = ${liveListAt}
  window.asked = 0
  window.fetch = async url => {
    if (!url.endsWith('/kimchi-premium')) return new Response('{}')
    window.asked += 1
    return Response.json(liveListAt(Date.now()))
  }
`

/** An hour of the page's own time. */
async function anHour(t: Test, open: Open) {
  const start = Date.UTC(2026, 10, 21, 13, 5, 20)
  const { page, context } = await open({
    prepare: async page => {
      await installClock(page, start)
      await page.addInitScript(SERVICE)
    },
  })
  const asked = () => page.evaluate<number>('window.asked')
  await page.waitForSelector('.coins tbody tr')
  await page.clock.pauseAt(start + 10_000)
  const before = await asked()
  await page.clock.runFor(3_600_000)
  t.equal((await asked()) - before, 60)
  await look(page, 'hidden')
  await page.clock.runFor(3_600_000)
  t.equal((await asked()) - before, 60, 'none while hidden')
  await look(page, 'visible')
  await page.clock.runFor(1_000)
  t.equal((await asked()) - before, 61, 'one on return')
  await context.close()
}

async function apiDown(t: Test, open: Open, stack: Stack) {
  const { page, context } = await open({
    prepare: async page => {
      await installClock(page)
      // The browser's cache runs in real time and would go on answering; a routed request bypasses it.
      await page.route(LIVE, route => route.continue())
    },
  })
  await page.waitForSelector('.coins tbody tr')
  const prices = await readTable(page)
  await stack.killApi()
  await page.clock.fastForward(70_000)
  await page.waitForSelector('.trouble')
  t.match(
    await page.locator('.trouble').textContent(),
    /No answer from the API\. Prices are from .* UTC \(.* ago\)\. Retrying automatically\./,
  )
  t.same((await readTable(page)).length, prices.length)
  await page.reload()
  await page.waitForSelector('.trouble')
  t.same((await readTable(page)).length, prices.length, 'also after a reload')
  await stack.startApi()
  await page.clock.fastForward(70_000)
  await page.waitForSelector('.trouble', { state: 'detached' })
  t.equal(await minuteOnScreen(page), (await askLive(stack)).updated_at)
  await context.close()
}
