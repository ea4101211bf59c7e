import type { Browser, Page } from '@kimchi/testkit/chromium'
import type { Test } from 'tap'
import { type Answers, historyOf } from './answers.ts'
import { goodAnswers, openForgetful, PAGES_AT_A_TIME, show, violations } from './views.ts'

const WIDTHS = [360, 768, 1200]

/** A view: its address, what it shows, and what the service answers. */
interface View {
  readonly name: string
  readonly hash?: string
  readonly path?: string
  readonly shows: string
  /** Where they are not {@link GOOD}. */
  readonly answers?: Answers
  readonly act?: (page: Page) => Promise<unknown>
}

const { list } = goodAnswers()
/** With a whole month of BTC, a partial and a running day: every figure, every kind of day and ranges beyond them. */
const GOOD: Answers = { list, histories: { BTC: historyOf('BTC', 'Bitcoin', list.updated_at, 30) } }
const STALE: Answers = {
  ...GOOD,
  list: {
    ...list,
    note: 'SIMULATED PRICES.',
    data: list.data.map((coin, index) =>
      index === 3 ? { ...coin, snapshot_at: `${list.updated_at.slice(0, 11)}00:00:00` } : coin,
    ),
  },
}
const EMPTY: Answers = { ...GOOD, list: { ...list, count: 0, data: [] } }

const VIEWS: readonly View[] = [
  {
    name: 'list with the form of the median’s alert',
    shows: '.alert',
    act: async page => {
      await page.locator('.alert summary').click()
      await page.waitForSelector('.alert form')
    },
  },
  { name: 'coin', hash: '#/BTC', shows: '.days tbody tr:nth-child(30):last-child' },
  { name: 'unknown coin', hash: '#/NOPE', shows: '[role=alert]' },
  { name: 'unknown address', hash: '#/a/b/c', shows: '.empty' },
  { name: 'list with an old row, simulated', shows: 'tr.stale', answers: STALE },
  { name: 'empty list', shows: '.empty', answers: EMPTY },
  { name: 'first seconds', shows: '.empty', answers: { ...GOOD, list: 'not_ready' } },
]
const DOCUMENTS: readonly View[] = ['reference.html', 'reference.ko.html', 'changelog.html'].map(path => ({
  name: path,
  path,
  shows: 'h1',
}))

/** No view has an accessibility violation or is wider than the screen. */
export async function accessibility(t: Test, browser: Browser, base: string): Promise<void> {
  const checkAll = async (t: Test, views: readonly View[], locale: string) => {
    const page = await openForgetful(browser, { locale })
    for (const view of views) await t.test(view.name, t => check(t, page, base, view))
    await page.close()
  }
  t.jobs = PAGES_AT_A_TIME
  await Promise.all([
    t.test('in English', { buffered: true }, t => checkAll(t, VIEWS, 'en-US')),
    t.test('in Korean', { buffered: true }, t => checkAll(t, VIEWS, 'ko-KR')),
    t.test('documents', { buffered: true }, t => checkAll(t, DOCUMENTS, 'en-US')),
  ])
}

async function check(t: Test, page: Page, base: string, view: View) {
  const { name, hash = '', path = '', shows, answers = GOOD, act } = view
  await show(page, `${base}${path}${hash}`, answers)
  await page.waitForSelector(shows)
  await act?.(page)
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 })
    t.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, `${name} fits ${width}`)
    // What shows at the middle width shows at another, too.
    if (width === WIDTHS[0]) t.strictSame(await violations(page, 'all but colours'), [], `${name}, ${width}`)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  t.strictSame(await violations(page, 'all'), [], `${name}, light`)
  // Nothing but colours differs in the dark. They do not depend on the width, and the widest shows the most.
  await page.emulateMedia({ colorScheme: 'dark' })
  t.strictSame(await violations(page, 'colours'), [], `${name}, dark`)
}
