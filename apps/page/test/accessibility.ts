import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from '@kimchi/testkit/chromium'
import type { Test } from 'tap'
import { type Answers, goodAnswers, historyOf, oldRow, withRows } from './answers.ts'
import { openForgetful, PAGES_AT_A_TIME, show } from './views.ts'
import { fillForm } from './visit.ts'

/** The schemes in which each width is checked: what shows at the middle one shows at another, too. */
const SCREENS = [
  { width: 320, schemes: ['light'] },
  { width: 768, schemes: [] },
  { width: 1200, schemes: ['dark', 'light'] },
] as const

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

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

const good = goodAnswers()
const { list } = good
/**
 * With a row of another day, which takes more room, and a whole month of BTC, a partial and a running day: every figure,
 * every kind of day and ranges beyond them.
 */
const GOOD: Answers = {
  list: oldRow(list, 86_400_000),
  histories: { BTC: historyOf('BTC', 'Bitcoin', list.updated_at, 30) },
}
const EMPTY = withRows(good, [])

const LIST: View = {
  name: 'simulated list with an old row and the form of the median’s alert',
  shows: 'tr.stale',
  act: page => page.locator('.alert > button').click(),
}
const BANK: View = {
  name: 'list with a bank’s rate and the form that has refused another',
  shows: '.coins tbody tr',
  act: async page => {
    for (const rate of ['1,380', 'no rate']) await fillForm(page, 'bank', { rate })
  },
}
const COIN: View = { name: 'coin', hash: '#/BTC', shows: '.days tbody tr:nth-child(30):last-child' }
const OTHERS: readonly View[] = [
  { name: 'unknown coin', hash: '#/NOPE', shows: '[role=alert]' },
  { name: 'empty list', shows: '.empty', answers: EMPTY },
]
const DOCUMENTS: readonly View[] = ['reference.html', 'changelog.html'].map(path => ({
  name: path,
  path,
  shows: 'h1',
}))

/** No view has an accessibility violation or is wider than the screen. */
export async function accessibility(t: Test, browser: Browser, base: string): Promise<void> {
  const checkAll = (title: string, locale: string, views: readonly View[], rules: Rules) =>
    t.test(title, { buffered: true }, async t => {
      const page = await openForgetful(browser, locale)
      for (const view of views) await t.test(view.name, t => check(t, page, base, view, rules))
      await page.close()
    })
  t.jobs = PAGES_AT_A_TIME
  await Promise.all([
    checkAll('in English', 'en-US', [LIST, BANK, COIN, ...OTHERS], 'all'),
    // Words and the colours of up and down are all that differs.
    checkAll('in Korean', 'ko-KR', [LIST, BANK, COIN], 'colours'),
    checkAll('documents', 'en-US', DOCUMENTS, 'all'),
  ])
}

async function check(t: Test, page: Page, base: string, view: View, rules: Rules) {
  const { name, hash = '', path = '', shows, answers = GOOD, act } = view
  await show(page, `${base}${path}`, answers, hash)
  await page.waitForSelector(shows)
  await act?.(page)
  for (const { width, schemes } of SCREENS) {
    await page.setViewportSize({ width, height: 800 })
    t.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, `${name} fits ${width}`)
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      // Colours are all that differs in the dark.
      const asked = colorScheme === 'dark' ? 'colours' : rules
      t.strictSame(await violations(page, asked), [], `${name}, ${width}, ${colorScheme}`)
    }
  }
}

/** axe-core's rules, of those that it has on by default, that depend on colours. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** Which of axe-core's rules are asked. */
type Rules = 'all' | 'colours'

/** axe-core's violations; the debugger injects it, past the page's policy. No rule of these reads a style sheet. */
async function violations(page: Page, rules: Rules): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE)
  return page.evaluate(
    async options => {
      // biome-ignore lint/suspicious/noExplicitAny: axe-core adds itself to the window.
      const { violations } = await (window as any).axe.run({
        resultTypes: ['violations'],
        preload: false,
        ...options,
      })
      return violations.flatMap((violation: { id: string; nodes: { html: string }[] }) =>
        violation.nodes.map(({ html }) => `${violation.id}: ${html}`),
      )
    },
    rules === 'all' ? {} : { runOnly: COLOUR_RULES },
  )
}
