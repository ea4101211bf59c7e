import type { Browser, Page } from '@kimchi/testkit/chromium'
import type { Test } from 'tap'
import type { Answers } from './answers.ts'
import { COLOUR_RULES, goodAnswers, openForgetful, PAGES_AT_A_TIME, show, violations } from './views.ts'

const WIDTHS = [360, 768, 1200]

/** A view: its address, what it shows, and what the service answers. */
interface View {
  readonly name: string
  readonly hash?: string
  readonly path?: string
  readonly shows: string
  readonly answers?: Partial<Answers>
  /** Opened from the view before it, as a reader does; else loaded. */
  readonly isNext?: boolean
  readonly act?: (page: Page) => Promise<unknown>
}

const stale = () => {
  const { list } = goodAnswers()
  const data = list.data.map((coin, index) =>
    index === 3 ? { ...coin, snapshot_at: `${list.updated_at.slice(0, 11)}00:00:00` } : coin,
  )
  return { ...list, note: 'SIMULATED PRICES.', data }
}
const empty = { ...goodAnswers().list, count: 0, data: [] }

const VIEWS: readonly View[] = [
  { name: 'list', shows: '.coins tbody tr' },
  {
    name: 'form of the median’s alert',
    isNext: true,
    shows: '.alert',
    act: async page => {
      await page.locator('.alert > button').click()
      await page.waitForSelector('.alert form')
    },
  },
  { name: 'candles', isNext: true, hash: '#/BTC/30', shows: '.days tbody tr' },
  { name: 'few days', isNext: true, hash: '#/ETH', shows: '.days tbody tr:nth-child(8):last-child' },
  { name: 'unknown coin', isNext: true, hash: '#/NOPE', shows: '[role=alert]' },
  { name: 'unknown address', isNext: true, hash: '#/a/b/c', shows: '.empty' },
  { name: 'list with an old row, simulated', shows: 'tr.stale', answers: { list: stale() } },
  { name: 'empty list', shows: '.empty', answers: { list: empty } },
  { name: 'first seconds', shows: '.empty', answers: { list: 'not_ready' } },
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
  const { name, hash = '', path = '', shows, answers, isNext, act } = view
  if (!isNext) await show(page, `${base}${path}${hash}`, { ...goodAnswers(), ...answers })
  else if (hash) await page.goto(page.url().replace(/#.*|$/, hash))
  await page.waitForSelector(shows)
  await act?.(page)
  await page.emulateMedia({ colorScheme: 'light' })
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 })
    t.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, `${name} fits ${width}`)
    // What shows at the middle width shows at another, too.
    if (width !== WIDTHS[1]) t.strictSame(await violations(page), [], `${name}, light, ${width}`)
  }
  // Nothing but colours differs in the dark. They do not depend on the width, and the widest shows the most.
  await page.emulateMedia({ colorScheme: 'dark' })
  t.strictSame(await violations(page, COLOUR_RULES), [], `${name}, dark`)
}
