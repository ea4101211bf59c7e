import type { CoinPremium, DailyPremium, LiveList } from '@kimchi/client'
import type { Browser, BrowserContext, Page } from '@kimchi/testkit/chromium'

/** A visitor of the page. */
export interface Visit {
  readonly page: Page
  readonly context: BrowserContext
  /** Every URL that was requested. */
  readonly asked: readonly string[]
  /** What the browser reported: errors, refused resources, policy violations. */
  readonly complaints: readonly string[]
  /** How often the live list was requested. */
  liveAsked(): number
}

/** Options of a visit. */
export interface VisitOptions {
  readonly hash?: string
  readonly locale?: string
  readonly colorScheme?: 'light' | 'dark'
  readonly width?: number
  /** Called before the page is loaded. */
  readonly prepare?: (page: Page) => Promise<unknown>
}

/** Opens the page in a browser profile of its own. */
export async function visit(browser: Browser, base: string, options: VisitOptions = {}): Promise<Visit> {
  const { hash = '', locale = 'en-US', colorScheme = 'light', width = 1200 } = options
  const context = await browser.newContext({ locale, colorScheme, viewport: { width, height: 800 } })
  const page = await context.newPage()
  const asked: string[] = []
  const complaints: string[] = []
  page.on('request', request => asked.push(request.url()))
  page.on('pageerror', error => complaints.push(String(error)))
  page.on('console', message => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  await options.prepare?.(page)
  await page.goto(`${base}${hash}`)
  const liveAsked = () => asked.filter(url => url.endsWith('/kimchi-premium')).length
  return { page, context, asked, complaints, liveAsked }
}

/** A number as it is shown. */
function read(text: string): number {
  return Number(text.replace(/[^\d.−]/g, '').replace('−', '-'))
}

/** The table on screen, by the API's names. */
export async function readTable(page: Page): Promise<Omit<CoinPremium, 'name'>[]> {
  const rows = await page.locator('.coins tbody tr').evaluateAll(found =>
    found.map(row => {
      const text = (selector: string) => row.querySelector(selector)?.textContent ?? ''
      return {
        symbol: text('.coin strong'),
        premium: text('.premium'),
        krw: text('.krw'),
        usdt: text('.usdt'),
        rate: text('.rate'),
        at: row.querySelector('.age time')?.getAttribute('datetime') ?? '',
      }
    }),
  )
  return rows.map(({ symbol, premium, krw, usdt, rate, at }) => ({
    symbol,
    premium_pct: read(premium),
    upbit_krw: read(krw),
    binance_usdt: read(usdt),
    usdt_krw: read(rate),
    snapshot_at: at.replace('Z', ''),
  }))
}

/** The days as they are on screen, oldest first. */
export async function readDays(page: Page): Promise<(DailyPremium & { badge: string })[]> {
  const rows = await page.locator('.days tbody tr').evaluateAll(found =>
    found.map(row => ({
      cells: [...row.children].map(cell => (cell.querySelector('time') ?? cell).textContent ?? ''),
      badge: row.querySelector('.badge')?.textContent ?? '',
    })),
  )
  return rows
    .map(({ cells, badge }) => {
      const [date = '', open = '', high = '', low = '', close = '', avg = '', samples = ''] = cells
      return {
        date,
        open_pct: read(open),
        high_pct: read(high),
        low_pct: read(low),
        close_pct: read(close),
        avg_pct: read(avg),
        samples: read(samples),
        badge,
      }
    })
    .reverse()
}

/** The minute on screen, as the API writes it. */
export async function minuteOnScreen(page: Page): Promise<string> {
  const at = await page.locator('.summary time').getAttribute('datetime')
  return (at ?? '').replace('Z', '')
}

/** Makes the page visible or hidden to itself. */
export async function look(page: Page, state: 'visible' | 'hidden'): Promise<void> {
  await page.evaluate(value => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => value })
    document.dispatchEvent(new Event('visibilitychange'))
  }, state)
}

/** The answer of a service on the page's own clock: two coins, the minute published 3 s after its end. */
export function liveListAt(now: number): LiveList {
  const updated_at = new Date(Math.floor((now - 3_000) / 60_000) * 60_000).toISOString().slice(0, 19)
  const coin = (symbol: string, premium_pct: number, snapshot_at: string): CoinPremium => ({
    symbol,
    name: symbol,
    premium_pct,
    upbit_krw: 1_000,
    binance_usdt: 1,
    usdt_krw: 1_400,
    snapshot_at,
  })
  const data = [coin('BTC', 1.5, updated_at), coin('XRP', -0.25, `${updated_at.slice(0, 14)}00:00`)]
  return { result: 'ok', updated_at, count: data.length, note: 'Times are UTC.', data }
}
