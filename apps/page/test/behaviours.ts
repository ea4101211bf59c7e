import type { Browser, Page } from '@kimchi/testkit/chromium'
import type { Test } from 'tap'
import { type Answers, liveListOf, minuteAt } from './answers.ts'
import { answerWith, goodAnswers, openForgetful, PAGES_AT_A_TIME, show } from './views.ts'
import { installClock, type VisitOptions, visit } from './visit.ts'

const ROWS = '.coins tbody tr'
const DAYS = '.days tbody tr'

/** What the page does, whatever the screen. */
export async function behaviours(t: Test, browser: Browser, base: string): Promise<void> {
  const open = async (t: Test, answers: Answers, { prepare, ...options }: VisitOptions = {}) => {
    const visited = await visit(browser, base, {
      ...options,
      prepare: async page => {
        await answerWith(page, answers)
        await prepare?.(page)
      },
    })
    t.teardown(() => visited.context.close())
    return visited
  }
  const test = (title: string, run: (t: Test, open: Open) => Promise<void>) =>
    t.test(title, { buffered: true }, t => run(t, open))
  const inTurn = (locale: string, tests: Readonly<Record<string, (t: Test, show: Show) => Promise<void>>>) =>
    t.test(locale, { buffered: true }, async t => {
      const page = await openForgetful(browser, { locale })
      const good = goodAnswers()
      const showHere: Show = async ({ hash = '', width = 1200, answers = good } = {}) => {
        await page.setViewportSize({ width, height: 800 })
        await show(page, `${base}${hash}`, answers)
        return page
      }
      for (const [title, run] of Object.entries(tests)) await t.test(title, t => run(t, showHere))
      await page.close()
    })
  const phoneTitle = 'a phone shows more than six coins, with targets of 44 pixels'
  t.jobs = PAGES_AT_A_TIME
  await Promise.all([
    inTurn('en-US', {
      'the range is in the address, and those beyond the data are disabled': ranges,
      'draws a year as a line on a phone, a week as candles': chartStyles,
      'explains an empty list and an address without a page': emptyWords,
      [phoneTitle]: phone,
    }),
    inTurn('ko-KR', {
      'shows and finds Korean names, and times in Seoul': korean,
      [phoneTitle]: phone,
    }),
    test('search and sorting survive a visit to a coin, favourites-only a reload', lastingList),
    // docs/faults.md, 75
    test('says that the first values are being collected, and shows the list when it is there', firstSeconds),
    // docs/faults.md, 75
    test('a coin that was opened too early is shown as soon as its history is there', early),
    test('an alert is in the title and a notification, also while the page is hidden', alerts),
    test('while an age grows, the table is not drawn again', growingAge),
  ])
}

type Open = (t: Test, answers: Answers, options?: VisitOptions) => ReturnType<typeof visit>

/** Shows a view of good answers, or of others, on the page that tests share. */
type Show = (view?: { hash?: string; width?: number; answers?: Answers }) => Promise<Page>

const symbols = (page: Page) => page.locator('.coin strong').allTextContents()

async function lastingList(t: Test, open: Open) {
  const { page } = await open(t, goodAnswers())
  await page.waitForSelector(ROWS)
  await page.getByRole('searchbox').fill('o')
  await page.getByRole('button', { name: 'Coin', exact: true }).click()
  const before = await symbols(page)
  await page.getByRole('link', { name: 'BTC Bitcoin' }).click()
  await page.waitForSelector(DAYS)
  await page.getByRole('link', { name: 'All coins' }).click()
  await page.waitForSelector(ROWS)
  t.strictSame(await symbols(page), before)
  t.equal(await page.getByRole('searchbox').inputValue(), 'o')
  await page.getByRole('button', { name: 'Favourite BTC' }).click()
  await page.getByRole('button', { name: 'Favourites', exact: true }).click()
  await page.reload()
  await page.waitForSelector(ROWS)
  t.strictSame(await symbols(page), ['BTC'])
}

async function ranges(t: Test, show: Show) {
  const page = await show({ hash: '#/BTC/365' })
  await page.waitForSelector(DAYS)
  t.equal(await page.locator(DAYS).count(), 365)
  await page.getByRole('button', { name: '7 days' }).click()
  await page.waitForFunction(() => document.querySelectorAll('.days tbody tr').length === 7)
  t.match(page.url(), /#\/BTC\/7$/)
  await page.goto(page.url().replace(/#.*/, '#/BTC/12345'))
  await page.waitForFunction(() => document.querySelectorAll('.days tbody tr').length === 90)
  await page.goto(page.url().replace(/#.*/, '#/ETH'))
  await page.waitForFunction(() => document.querySelectorAll('.days tbody tr').length === 8)
  const buttons = await page
    .locator('.ranges fieldset button')
    .evaluateAll(found => found.map(button => [button.textContent, (button as HTMLButtonElement).disabled]))
  t.strictSame(buttons, [
    ['7 days', false],
    ['30 days', true],
    ['90 days', true],
    ['365 days', true],
    ['All', false],
  ])
}

async function chartStyles(t: Test, show: Show) {
  const page = await show({ hash: '#/BTC/365', width: 360 })
  await page.waitForSelector('.canvas[data-style=line]')
  await page.getByRole('button', { name: '7 days' }).click()
  await page.waitForSelector('.canvas[data-style=candles]')
  const average = page.getByRole('button', { name: '7-day average' })
  await average.click()
  t.equal(await average.getAttribute('aria-pressed'), 'true')
}

async function korean(t: Test, show: Show) {
  const answers = goodAnswers()
  const page = await show({ answers })
  await page.waitForSelector(ROWS)
  await page.getByRole('searchbox').fill('비트')
  t.strictSame(await page.locator('.coin a').allTextContents(), ['BTC 비트코인'])
  const minute = `${answers.list.updated_at}Z`
  const seoul = new Date(Date.parse(minute) + 9 * 3_600_000).toISOString().slice(11, 16)
  const time = page.locator('.summary time')
  t.equal(await time.textContent(), `${seoul} KST`)
  t.equal(await time.getAttribute('title'), `${minute.slice(11, 16)} UTC`)
  t.equal(await page.evaluate(() => document.documentElement.lang), 'ko')
}

async function phone(t: Test, show: Show) {
  const answers = goodAnswers()
  answers.list = { ...answers.list, note: 'SIMULATED PRICES.' }
  const page = await show({ answers, width: 360 })
  await page.setViewportSize({ width: 360, height: 780 })
  await page.waitForSelector(ROWS)
  const bottoms = await page
    .locator(ROWS)
    .evaluateAll(rows => rows.map(row => row.getBoundingClientRect().bottom))
  const visible = bottoms.filter(bottom => bottom <= 780).length
  t.ok(visible > 6, `${visible} coins are visible`)
  const small = () =>
    page
      .locator('button:visible, summary:visible, input:visible, .back, .empty a')
      .evaluateAll(found =>
        found.filter(target => target.getBoundingClientRect().height < 44).map(target => target.outerHTML),
      )
  t.strictSame(await small(), [])
  await page.locator('.coin a').first().click()
  await page.waitForSelector('.back')
  t.strictSame(await small(), [])
  await page.goto(`${page.url().replace(/#.*/, '')}#/a/b/c`)
  await page.waitForSelector('.empty a')
  t.strictSame(await small(), [], 'on an address without a page')
}

async function firstSeconds(t: Test, open: Open) {
  const good = goodAnswers()
  const answers: Answers = { ...good, list: 'not_ready' }
  const { page } = await open(t, answers, { prepare: installClock })
  await page.getByText('collecting the first prices').waitFor()
  t.equal(await page.locator('.trouble').count(), 0, 'nothing has failed')
  answers.list = good.list
  await page.clock.runFor(7_000)
  await page.waitForSelector(ROWS)
  t.equal(await page.locator(ROWS).count(), 10)
}

async function early(t: Test, open: Open) {
  const good = goodAnswers()
  const answers: Answers = { list: good.list, histories: {} }
  const { page } = await open(t, answers, { hash: '#/BTC', prepare: installClock })
  await page.getByText('There is no history of BTC yet.').waitFor()
  answers.histories = good.histories
  answers.list = liveListOf(minuteAt(Date.now() + 60_000))
  await page.clock.runFor(76_000)
  await page.waitForSelector(DAYS)
}

/** In place of the browser's own, which nobody can see in a test. */
const NOTIFICATIONS = `
  window.notified = []
  window.Notification = class {
    static permission = 'granted'
    static requestPermission = async () => 'granted'
    constructor(title) { window.notified.push(title) }
  }
`

async function alerts(t: Test, open: Open) {
  const answers = goodAnswers()
  const { page, liveAsked } = await open(t, answers, {
    prepare: async page => {
      await installClock(page)
      await page.addInitScript(NOTIFICATIONS)
    },
  })
  await page.waitForSelector(ROWS)
  await page.getByRole('link', { name: 'BTC Bitcoin' }).click()
  await page.locator('.alert summary').click()
  await page.getByLabel('Threshold in percent').fill('2')
  await page.getByRole('button', { name: 'Set' }).click()
  t.match(await page.title(), /^\+1\.23% · BTC/)
  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' })
    document.dispatchEvent(new Event('visibilitychange'))
  })
  const list = liveListOf(minuteAt(Date.now() + 60_000))
  const data = list.data.map(coin => (coin.symbol === 'BTC' ? { ...coin, premium_pct: 2.5 } : coin))
  answers.list = { ...list, data }
  const before = liveAsked()
  await page.clock.runFor(76_000)
  t.ok(liveAsked() > before, 'the page goes on asking while it is hidden')
  await page.waitForFunction(() => document.title.startsWith('🔔 BTC +2.50%'))
  t.strictSame(await page.evaluate('window.notified'), ['BTC +2.50% (2% or above)'])
  await page.reload()
  await page.waitForSelector('.firing')
  t.match(await page.locator('.firing').textContent(), 'BTC +2.50%', 'the device remembers it')
}

/** Counts the numbers that the page writes. */
const WRITTEN = `
  window.written = 0
  const { get } = Object.getOwnPropertyDescriptor(Intl.NumberFormat.prototype, 'format')
  Object.defineProperty(Intl.NumberFormat.prototype, 'format', {
    get() {
      window.written += 1
      return get.call(this)
    },
  })
`

async function growingAge(t: Test, open: Open) {
  const { page } = await open(t, goodAnswers(), {
    prepare: async page => {
      await installClock(page)
      await page.addInitScript(WRITTEN)
    },
  })
  await page.waitForSelector(`${ROWS} .change`)
  const age = () => page.locator('.summary > div:last-child dt').textContent()
  await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 1_000)
  const [before, rows] = [await age(), await page.locator(ROWS).count()]
  await page.evaluate('window.written = 0')
  await page.clock.runFor(5_100)
  t.not(await age(), before)
  const written = await page.evaluate<number>('window.written')
  t.ok(written < rows, `${written} numbers for ${rows} coins`)
}

async function emptyWords(t: Test, show: Show) {
  const good = goodAnswers()
  const page = await show({ answers: { ...good, list: { ...good.list, count: 0, data: [] } } })
  await page.getByText('No coin has a current price.').waitFor()
  await page.goto(`${page.url().replace(/#.*/, '')}#/a/b/c`)
  await page.waitForSelector('.empty h1')
  t.match(await page.locator('.empty').textContent(), 'There is no such page.')
}
