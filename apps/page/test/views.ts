import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { LiveList } from '@kimchi/client'
import type { Teardown } from '@kimchi/testkit'
import type { Browser, Page } from '@kimchi/testkit/chromium'
import { type Plugin, preview } from 'vite'
import { type Answers, historyOf, liveListOf, minuteAt, respond } from './answers.ts'
import { SLOWEST_MS } from './visit.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** How many of its pages a test has one browser draw at a time. */
export const PAGES_AT_A_TIME = 3

/** By the number that a page sends with each request. */
const answersOf: Answers[] = []

/** Answers a page's requests in place of a service. Unlike a route it lets the browser cache the page's files. */
export async function answerWith(page: Page, answers: Answers): Promise<void> {
  const number = answersOf.push(answers) - 1
  await page.setExtraHTTPHeaders({ 'x-answers': `${number}` })
}

const service: Plugin = {
  name: 'service',
  configurePreviewServer: ({ middlewares }) => {
    middlewares.use('/api/', ({ headers, originalUrl = '' }, response) => {
      const answers = answersOf[Number(headers['x-answers'])]
      if (!answers) throw new Error(`${originalUrl} is asked for by a page without answers`)
      const url = new URL(originalUrl, 'http://127.0.0.1')
      const { status, headers: own, json } = respond(answers, url, Date.now())
      response.writeHead(status, own).end(JSON.stringify(json))
    })
  },
}

/** Serves the built page; tests answer in place of the API. */
export async function servePage(t: Teardown): Promise<string> {
  const root = fileURLToPath(new URL('../', import.meta.url))
  const server = await preview({
    root,
    logLevel: 'silent',
    plugins: [service],
    preview: { port: 0, proxy: {} },
  })
  t.teardown(() => server.close())
  return server.resolvedUrls?.local[0] ?? ''
}

/** A page whose device remembers nothing, to show one view after another ({@link show}). */
export async function openForgetful(
  browser: Browser,
  options: Parameters<Browser['newPage']>[0],
): Promise<Page> {
  const page = await browser.newPage(options)
  page.setDefaultTimeout(SLOWEST_MS)
  await page.addInitScript('localStorage.clear()')
  return page
}

let shown = 0

/** Shows what is at an address when the service answers so. */
export async function show(page: Page, address: string, answers: Answers): Promise<void> {
  await answerWith(page, answers)
  // Of two addresses that differ after # alone, the second would not be loaded.
  const url = new URL(address)
  shown += 1
  url.search = `${shown}`
  await page.goto(url.href)
}

/** Answers of a service in good health: 500 days of BTC, 8 of ETH. */
export function goodAnswers(now = Date.now()): { list: LiveList; histories: Answers['histories'] } {
  const minute = minuteAt(now)
  return {
    list: liveListOf(minute),
    histories: {
      BTC: historyOf('BTC', 'Bitcoin', minute, 500),
      ETH: historyOf('ETH', 'Ethereum', minute, 8),
    },
  }
}

/** axe-core's rules, of those that it has on by default, that depend on colours. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/**
 * axe-core's violations; the debugger injects it, past the page's policy.
 * @param rules all that it has on by default when left out
 */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE)
  return page.evaluate(async runOnly => {
    // biome-ignore lint/suspicious/noExplicitAny: axe-core adds itself to the window.
    const { violations } = await (window as any).axe.run({
      resultTypes: ['violations'],
      ...(runOnly && { runOnly }),
    })
    return violations.flatMap((violation: { id: string; nodes: { html: string }[] }) =>
      violation.nodes.map(({ html }) => `${violation.id}: ${html}`),
    )
  }, rules)
}
