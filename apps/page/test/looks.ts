import { eventually } from '@kimchi/testkit'
import type { Browser, Page } from '@kimchi/testkit/chromium'
import type { Test } from 'tap'
import { type Answers, goodAnswers, historyOf, oldRow, withRows } from './answers.ts'
import { openForgetful, show } from './views.ts'
import { fillForm } from './visit.ts'

const ROWS = '.coins tbody tr'
const DAYS = '.days tbody tr'
const PHONE = 360

/** Shows a view of good answers, or of others, on the page that the tests share. */
type Show = (view?: { hash?: string; width?: number; answers?: Answers }) => Promise<Page>

type Good = ReturnType<typeof goodAnswers>

/** Looks at something. @param good the answers that are shown unless a view has others */
type Look = (t: Test, show: Show, good: Good) => Promise<void>

/** What a reader sees, each on the screen that it may depend on. */
export async function looks(t: Test, browser: Browser, base: string): Promise<void> {
  const good = goodAnswers()
  const page = await openForgetful(browser, 'en-US')
  const showHere: Show = async ({ hash = '', width = 1200, answers = good } = {}) => {
    await page.setViewportSize({ width, height: 800 })
    await show(page, base, answers, hash)
    return page
  }
  for (const [title, run] of Object.entries(LOOKS)) await t.test(title, t => run(t, showHere, good))
  await page.close()
}

const LOOKS: Readonly<Record<string, Look>> = {
  'draws a year as a line on a phone, a week as candles, and the address names which': chartStyles,
  'the days need no sideways scrolling, each row as high as the next': days,
  'a premium has the colour of the sign that it shows, and its whole value as title': signs,
  'the axis of days has no label that is cut off': axisLabels,
  'explains an empty list': emptyWords,
  'a phone keeps its search, whatever the alert says, and its head': phoneTools,
  'a phone shows more than six coins, with targets of 44 pixels': phone,
}

const textsOf = (page: Page, selector: string) => page.locator(selector).allTextContents()

const untilDays = (page: Page, count: number) =>
  page.waitForFunction(count => document.querySelectorAll('.days tbody tr').length === count, count)

async function chartStyles(t: Test, show: Show) {
  const page = await show({ hash: '#/BTC/365', width: PHONE })
  await page.waitForSelector('.canvas[data-style=line]')
  const closes = page.locator('.closes')
  t.ok(await closes.isVisible(), 'and says so')
  await page.getByRole('button', { name: '7 days' }).click()
  await page.waitForSelector('.canvas[data-style=candles]')
  await untilDays(page, 7)
  t.match(page.url(), /#\/BTC\/7$/)
  t.notOk(await closes.isVisible())
}

/** The rows of every kind of day fit the screen and are as high as the next. */
async function checkDays(t: Test, page: Page) {
  await untilDays(page, 8)
  t.ok(
    await page.locator('.scroll').evaluate(box => box.scrollWidth <= box.clientWidth),
    'nothing is cut off',
  )
  const heights = await page
    .locator(DAYS)
    .evaluateAll(rows => rows.map(row => Math.round(row.getBoundingClientRect().height)))
  t.equal(new Set(heights).size, 1, 'running, partial and whole days alike')
  return textsOf(page, '.days thead th:visible')
}

async function days(t: Test, show: Show) {
  const [date, ...narrow] = ['Date (UTC)', 'Close', 'Average', 'Low – high', 'Minutes']
  const onPhone = await checkDays(t, await show({ hash: '#/ETH', width: PHONE }))
  t.strictSame(onPhone, [date, ...narrow])
  const page = await show({ hash: '#/ETH' })
  t.strictSame(await checkDays(t, page), [date, ...narrow.toSpliced(3, 0, 'Open')])
  t.match((await textsOf(page, '.days .dot'))[2], /^running, as of/)
}

async function signs(t: Test, show: Show, good: Good) {
  const rows = [1.5561, 0.0049, -1.555].map(premium_pct => ({ premium_pct }))
  const page = await show({ answers: withRows(good, rows) })
  await page.waitForSelector(ROWS)
  const shown = page.locator('.coins .premium .pct')
  t.strictSame(
    await shown.evaluateAll(found => found.map(one => `${one.className} ${one.getAttribute('title')}`)),
    [...['pct up +1.5561%', 'pct flat +0.0049%', 'pct down −1.5550%']],
  )
}

/** Notes what is written on a canvas: the text, and whether it is inside. */
const WRITTEN = `
  window.written = []
  const { fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const half = this.measureText(text).width / 2
    const isInside = x - half >= -1 && x + half <= this.canvas.clientWidth + 1
    if (this.textAlign === 'center') window.written.push({ text, isInside })
    fillText.call(this, text, x, y)
  }
`

async function axisLabels(t: Test, show: Show, good: Good) {
  // The first of a month has a label, here at the very edge.
  const first = `${good.list.updated_at.slice(0, 8)}01T00:00:00`
  const answers = { ...good, histories: { BTC: historyOf('BTC', 'Bitcoin', first, 500) } }
  const page = await show({ hash: '#/BTC/7', width: PHONE, answers })
  await page.evaluate(WRITTEN)
  for (const range of [30, 3650]) {
    await page.evaluate('window.written = []')
    await show({ hash: `#/BTC/${range}`, width: PHONE, answers })
    const read = () => page.evaluate<{ isInside: boolean }[]>('window.written')
    await eventually('labels', async () => (await read()).length > 3)
    const written = await read()
    t.strictSame(
      written.filter(({ isInside }) => !isInside),
      [],
      `${range}: ${written.length} labels`,
    )
  }
}

async function emptyWords(t: Test, show: Show, good: Good) {
  const page = await show({ answers: withRows(good, []) })
  await page.getByText('No coin has a current price.').waitFor()
  t.match(await page.locator('.status .age').textContent(), /^Updated \d\d:\d\d UTC/)
}

async function phoneTools(t: Test, show: Show, good: Good) {
  const rows = Array.from({ length: 200 }, (_, index) => ({ symbol: `C${index}` }))
  const page = await show({ answers: withRows(good, rows), width: 320 })
  await fillForm(page, 'alert', { above: '100.25', below: '-100.25' })
  await page.getByText('≥ 100.25% ≤ -100.25%').first().waitFor()
  const box = (selector: string) => page.locator(selector).evaluate(found => found.getBoundingClientRect())
  for (const width of [320, 390]) {
    await page.setViewportSize({ width, height: 780 })
    const search = await box('.tools [type=search]')
    t.ok(search.width >= 140, `a search of ${search.width} px at ${width}`)
    t.ok((await box('.alert > button')).right <= width, 'the alert ends on the screen')
  }
  for (const width of [390, 1200]) {
    await page.setViewportSize({ width, height: 780 })
    await page.evaluate('scrollTo(0, 3000)')
    const { top } = await box('.coins thead .premium')
    t.ok(top >= 0 && top < 20, `the head is in view at ${width}: ${top}`)
    t.ok((await box('.status .age')).bottom <= 780, 'the age, too')
  }
}

async function phone(t: Test, show: Show, good: Good) {
  const answers: Answers = { ...good, list: oldRow(good.list) }
  const page = await show({ answers, width: PHONE })
  await page.setViewportSize({ width: PHONE, height: 780 })
  await page.waitForSelector(ROWS)
  const bottoms = await page
    .locator(ROWS)
    .evaluateAll(rows => rows.map(row => row.getBoundingClientRect().bottom))
  const foot = await page.locator('.status').evaluate(bar => bar.getBoundingClientRect().top)
  const visible = bottoms.filter(bottom => bottom <= foot).length
  t.ok(visible > 6, `${visible} coins are visible`)
  t.ok(await page.locator('.coins tbody .gap').first().isVisible(), 'with the gap in won')
  const gapName = await page.evaluate(
    () => getComputedStyle(document.querySelector('.coins tbody .gap') ?? document.body, '::before').content,
  )
  t.match(gapName, 'Gap')
  t.ok(await page.locator('.status .age', { hasText: /ago$/ }).isVisible(), 'and the age')
  const small = () =>
    page
      .locator('button:visible, input:not(.unseen):visible, .back')
      .evaluateAll(found =>
        found.filter(target => target.getBoundingClientRect().height < 44).map(target => target.outerHTML),
      )
  t.strictSame(await small(), [])
  await page.locator('.coin a').first().click()
  await page.waitForSelector('.back')
  t.strictSame(await small(), [])
}
