import type { CoinPremium, DailyPremium } from '@kimchi/client'
import type { Teardown } from '@kimchi/testkit'
import type { Browser, Page } from '@kimchi/testkit/chromium'

/** A visitor of the page. */
export interface Visit {
  readonly page: Page
  /** Every URL that was requested. */
  readonly asked: readonly string[]
  /** What the browser reported: errors, refused resources, policy violations. */
  readonly complaints: readonly string[]
}

/** Options of a visit. */
export interface VisitOptions {
  readonly hash?: string
  readonly locale?: string
  readonly hasTouch?: boolean
  /**
   * Milliseconds since the epoch at which a clock starts that the test moves. By more than the 10 s that an answer may
   * take only with `fastForward`, as answers take real time.
   */
  readonly clockFrom?: number
  /** Runs in the page, and in those that it opens, before the page's own. */
  readonly script?: string
  /** Called before the page is loaded. */
  readonly prepare?: (page: Page) => Promise<unknown>
}

/** How long a page may take for anything: only a failure takes so long. */
export const SLOWEST_MS = 180_000

/** Opens the page in a browser profile of its own, closed with the test. */
export async function visit(
  t: Teardown,
  browser: Browser,
  base: string,
  { hash = '', locale = 'en-US', hasTouch = false, clockFrom, script = '', prepare }: VisitOptions = {},
): Promise<Visit> {
  const page = await browser.newPage({ locale, hasTouch, viewport: { width: 1200, height: 800 } })
  t.teardown(() => page.close())
  page.setDefaultTimeout(SLOWEST_MS)
  const asked: string[] = []
  const complaints: string[] = []
  page.on('request', request => asked.push(request.url()))
  page.on('pageerror', error => complaints.push(String(error)))
  page.on('console', message => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  if (clockFrom !== undefined) await page.clock.install({ time: clockFrom })
  await page.context().addInitScript(script)
  await prepare?.(page)
  await page.goto(`${base}${hash}`)
  return { page, asked, complaints }
}

/** A number as it is shown. */
function read(text: string): number {
  return Number(text.replace(/[^\d.−]/g, '').replace('−', '-'))
}

/** A row of the list on screen, by the API's names. */
export type ShownCoin = Pick<CoinPremium, 'symbol' | 'premium_pct' | 'upbit_krw' | 'binance_usdt'>

/** The table on screen; a premium is the whole value behind its two digits. */
export async function readTable(page: Page): Promise<ShownCoin[]> {
  const rows = await page.locator('.coins tbody tr').evaluateAll(found =>
    found.map(row => {
      const text = (selector: string) => row.querySelector(selector)?.textContent ?? ''
      const premium = row.querySelector('.premium data')?.getAttribute('value') ?? ''
      return { symbol: text('.coin strong'), premium, krw: text('.krw'), usdt: text('.usdt') }
    }),
  )
  return rows.map(({ symbol, premium, krw, usdt }) => ({
    symbol,
    premium_pct: Number(premium),
    upbit_krw: read(krw),
    binance_usdt: read(usdt),
  }))
}

/** The days on screen, oldest first; a premium is the whole value behind its two digits. */
export async function readDays(page: Page): Promise<(DailyPremium & { dot: string })[]> {
  const rows = await page.locator('.days tbody tr').evaluateAll(found =>
    found.map(row => ({
      date: row.querySelector('time')?.textContent ?? '',
      values: [...row.querySelectorAll('data')].map(value => Number(value.getAttribute('value'))),
      samples: row.lastElementChild?.textContent ?? '',
      dot: row.querySelector('.dot')?.textContent ?? '',
    })),
  )
  return rows
    .map(({ date, values, samples, dot }) => {
      const [close_pct = 0, avg_pct = 0, low_pct = 0, high_pct = 0, open_pct = 0] = values
      return { date, open_pct, high_pct, low_pct, close_pct, avg_pct, samples: read(samples), dot }
    })
    .reverse()
}

/** The minute on screen, as the API writes it. */
export async function minuteOnScreen(page: Page): Promise<string> {
  const at = await page.locator('.status time').getAttribute('datetime')
  return (at ?? '').replace('Z', '')
}

/** Opens the form of the bank's rate or of an alert, fills fields by their names, and sends it. */
export async function fillForm(
  page: Page,
  kind: 'bank' | 'alert',
  values: Readonly<Record<string, string>>,
): Promise<void> {
  await page.locator(`.${kind} > button`).click()
  for (const [name, value] of Object.entries(values))
    await page.locator(`.${kind} [name=${name}]`).fill(value)
  await page.locator(`.${kind} [type=submit]`).click()
}

/** Makes the page visible or hidden to itself. */
export async function look(page: Page, state: 'visible' | 'hidden'): Promise<void> {
  await page.evaluate(value => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => value })
    document.dispatchEvent(new Event('visibilitychange'))
  }, state)
}
