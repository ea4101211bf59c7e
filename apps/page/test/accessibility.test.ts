import { findChromium, openChromium, type Page } from '@kimchi/testkit/chromium'
import t, { type Test } from 'tap'
import type { Answers } from './answers.ts'
import { goodAnswers, openForgetful, PAGES_AT_A_TIME, servePage, show, violations } from './views.ts'

const program = findChromium()
const skip = program === undefined && 'no chromium on PATH'
const WIDTHS = [360, 768, 1200]

/** A view: its address, what it shows, and what the service answers. */
interface View {
  readonly name: string
  readonly hash?: string
  readonly path?: string
  readonly shows: string
  readonly answers?: Partial<Answers>
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
  { name: 'list with an old row, simulated', shows: 'tr.stale', answers: { list: stale() } },
  {
    name: 'form of the median’s alert',
    shows: '.alert',
    act: async page => {
      await page.locator('.alert > button').click()
      await page.waitForSelector('.alert form')
    },
  },
  { name: 'empty list', shows: '.empty', answers: { list: empty } },
  { name: 'first seconds', shows: '.empty', answers: { list: 'not_ready' } },
  { name: 'candles', hash: '#/BTC/30', shows: '.days tbody tr' },
  { name: 'few days', hash: '#/ETH', shows: '.days tbody tr' },
  { name: 'unknown coin', hash: '#/NOPE', shows: '[role=alert]' },
  { name: 'unknown address', hash: '#/a/b/c', shows: '.empty' },
]
const DOCUMENTS: readonly View[] = ['reference.html', 'reference.ko.html', 'changelog.html'].map(path => ({
  name: path,
  path,
  shows: 'h1',
}))

t.test('no view has an accessibility violation or is wider than the screen', { skip }, async t => {
  const base = await servePage(t)
  const browser = await openChromium(program ?? '', t)
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
})

async function check(t: Test, page: Page, base: string, view: View) {
  const { name, hash = '', path = '', shows, answers, act } = view
  await show(page, `${base}${path}${hash}`, { ...goodAnswers(), ...answers })
  await page.waitForSelector(shows)
  await act?.(page)
  await page.emulateMedia({ colorScheme: 'light' })
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 })
    t.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, `${name} fits ${width}`)
    // What shows at the middle width shows at another, too.
    if (width !== WIDTHS[1]) t.strictSame(await violations(page), [], `${name}, light, ${width}`)
  }
  // Colours do not depend on the width, and the widest shows the most.
  await page.emulateMedia({ colorScheme: 'dark' })
  t.strictSame(await violations(page), [], `${name}, dark`)
}
