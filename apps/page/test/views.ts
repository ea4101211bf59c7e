import { fileURLToPath } from 'node:url'
import type { Teardown } from '@kimchi/testkit'
import type { Browser, Page } from '@kimchi/testkit/chromium'
import type { Test } from 'tap'
import { type Plugin, preview } from 'vite'
import { type Answers, respond } from './answers.ts'
import { SLOWEST_MS, type Visit, type VisitOptions, visit } from './visit.ts'

/** How many of its pages a test has one browser draw at a time. */
export const PAGES_AT_A_TIME = 3

/** By the number that a page has in its address. */
const answersOf: Answers[] = []

/**
 * The page's address with answers in place of a service's: whatever it asks for names that address as its referrer.
 * Unlike a route this lets the browser cache the page's files.
 */
export function addressWith(base: string, answers: Answers): string {
  const known = answersOf.indexOf(answers)
  return `${base}?${known < 0 ? answersOf.push(answers) - 1 : known}`
}

/** Opens the page for a test, with answers in place of a service. */
export type Open = (t: Teardown, answers: Answers, options?: VisitOptions) => Promise<Visit>

/** Runs tests by their titles, a few at a time, each with pages of its own. */
export async function testPages(
  t: Test,
  browser: Browser,
  base: string,
  tests: Readonly<Record<string, (t: Test, open: Open) => Promise<void>>>,
): Promise<void> {
  const open: Open = (t, answers, options) => visit(t, browser, addressWith(base, answers), options)
  t.jobs = PAGES_AT_A_TIME
  await Promise.all(
    Object.entries(tests).map(([title, run]) => t.test(title, { buffered: true }, t => run(t, open))),
  )
}

const service: Plugin = {
  name: 'service',
  configurePreviewServer: ({ middlewares }) => {
    middlewares.use('/api/', ({ headers, originalUrl = '' }, response) => {
      const answers = answersOf[Number(headers.referer?.split('?')[1])]
      if (!answers) throw new Error(`${originalUrl} is asked for by a page without answers`)
      const url = new URL(originalUrl, 'http://127.0.0.1')
      const { status, headers: own, json } = respond(answers, url, Date.now())
      response.writeHead(status, own).end(JSON.stringify(json))
    })
  },
}

/** Serves the built page. @param api base of an API; without one, tests answer in its place */
export async function servePage(t: Teardown, api?: string): Promise<string> {
  const server = await preview({
    root: fileURLToPath(new URL('../', import.meta.url)),
    logLevel: 'silent',
    plugins: api === undefined ? [service] : [],
    preview: {
      host: '127.0.0.1',
      port: 0,
      proxy: api === undefined ? {} : { '/api/': { target: api } },
    },
  })
  t.teardown(() => server.close())
  return server.resolvedUrls?.local[0] ?? ''
}

/** A page whose device remembers nothing, to show one view after another ({@link show}). */
export async function openForgetful(browser: Browser, locale: string): Promise<Page> {
  const page = await browser.newPage({ locale })
  page.setDefaultTimeout(SLOWEST_MS)
  await page.addInitScript('localStorage.clear()')
  return page
}

/**
 * Shows what is at an address when the service answers so. Another view of the same answers differs after # alone: it
 * is opened as a reader does, which takes a fraction of loading the page.
 */
export const show = (page: Page, base: string, answers: Answers, hash: string) =>
  page.goto(`${addressWith(base, answers)}${hash}`)
