import type { History } from '@kimchi/client'
import { eventually } from '@kimchi/testkit'
import type { Browser, Page } from '@kimchi/testkit/chromium'
import type { Test } from 'tap'
import { type Answers, historyOf } from './answers.ts'
import { answerWith, goodAnswers, openForgetful, PAGES_AT_A_TIME, show } from './views.ts'
import { installClock, visit } from './visit.ts'

const ROWS = '.coins tbody tr'
const DAYS = '.days tbody tr'

/** A phone's constructor, which is there and can only throw. */
const UNUSABLE_NOTIFICATIONS = `
  window.asked = 0
  window.Notification = class {
    static permission = 'default'
    static async requestPermission() { window.asked += 1; return 'granted' }
    constructor() { throw new TypeError('Illegal constructor') }
  }
`

/** What a reader sees, on a phone and a desktop, in both languages. */
export async function looks(t: Test, browser: Browser, base: string): Promise<void> {
  t.jobs = PAGES_AT_A_TIME
  const all = ['en-US', 'ko-KR'].flatMap(locale => [390, 1440].map(width => ({ locale, width })))
  await Promise.all(
    all.map(look =>
      t.test(`${look.locale}, ${look.width} px`, { buffered: true }, t => seen(t, browser, base, look)),
    ),
  )
}

async function seen(
  t: Test,
  browser: Browser,
  base: string,
  { locale, width }: { locale: string; width: number },
) {
  const page = await openForgetful(browser, { locale, viewport: { width, height: 800 } })
  const open = async (t: Test, answers: Answers, prepare: (page: Page) => Promise<unknown>) => {
    const visited = await visit(browser, base, {
      locale,
      width,
      prepare: async page => {
        await answerWith(page, answers)
        await prepare(page)
      },
    })
    t.teardown(() => visited.context.close())
    return visited
  }
  const good = goodAnswers()
  good.histories.BTC = historyOf('BTC', 'Bitcoin', good.list.updated_at, 40)
  const showHere = async (hash = '', answers: Answers = good) => {
    await show(page, `${base}${hash}`, answers)
    return page
  }
  const look: Look = { open, good, show: showHere, isKorean: locale === 'ko-KR', isPhone: width === 390 }
  const test = (title: string, run: (t: Test, look: Look) => Promise<void>) =>
    t.test(title, t => run(t, look))
  await test('lists BTC first until somebody sorts, with the change since yesterday', order)
  await test('the days need no sideways scrolling, each row as high as the next', dayTable)
  // The others depend on the language or the width alone, the last on neither.
  if (look.isKorean) await test('a few days fill the chart, none wider than a tenth', fewDays)
  if (look.isPhone) {
    await test('a premium is rounded to two digits, and has a sign where these have one', rounding)
    await test('a phone whose notifications can only throw is offered the title', phoneAlert)
    await test('says when a day begins, and how old the prices are', words)
  }
  if (look.isKorean && !look.isPhone) await test('asks for at most 20 changes a minute', manyCoins)
  await page.close()
}

interface Look {
  readonly good: ReturnType<typeof goodAnswers>
  /** Shows a view of the good answers, or of others, on the page that the tests of a look share. */
  readonly show: (hash?: string, answers?: Answers) => Promise<Page>
  /** Opens a page that is prepared before it is loaded. */
  readonly open: (
    t: Test,
    answers: Answers,
    prepare: (page: Page) => Promise<unknown>,
  ) => ReturnType<typeof visit>
  readonly isKorean: boolean
  readonly isPhone: boolean
}

const textsOf = (page: Page, selector: string) => page.locator(selector).allTextContents()

async function rounding(t: Test, { show, good, isKorean }: Look) {
  const premiums = [13.9951, 1.5561, 0.0099, 0.0049, -0.0049, -1.555]
  const data = good.list.data.slice(0, premiums.length).map((coin, index) => ({
    ...coin,
    premium_pct: premiums[index] ?? 0,
  }))
  const page = await show('', { ...good, list: { ...good.list, count: data.length, data } })
  await page.waitForSelector(ROWS)
  t.strictSame(await textsOf(page, '.coins .premium .pct'), [
    ...['+14.00%', '+1.56%', '+0.01%', '0.00%', '0.00%', '−1.56%'],
  ])
  const signs = await page
    .locator('.coins .premium .pct')
    .evaluateAll(found => found.map(one => one.className))
  t.strictSame(signs, ['pct up', 'pct up', 'pct up', 'pct flat', 'pct flat', 'pct down'])
  t.equal(await page.locator('.coins .premium .pct').nth(1).getAttribute('title'), '+1.5561%')
  t.match(await page.title(), /^\+0\.01% /)
  await page.locator('.coin a').first().click()
  await page.waitForSelector(DAYS)
  t.match(await page.title(), /^\+14\.00% · BTC/)
  t.equal(await page.locator('.now .pct').textContent(), '+14.00%')
  t.equal(isKorean, (await page.title()).includes('김치'))
}

async function phoneAlert(t: Test, { open, isKorean }: Look) {
  const { page } = await open(t, goodAnswers(), page => page.addInitScript(UNUSABLE_NOTIFICATIONS))
  await page.locator('.alert summary').click()
  const hint = await page.locator('.alert .hint').textContent()
  t.match(
    hint,
    isKorean ? /알림을 띄울 수 없어.*탭 제목.*소리 없이/ : /cannot show.*tab’s title, without a sound/,
  )
  await page.locator('.alert input').fill('0.1')
  await page.locator('.alert [type=submit]').click()
  await page.waitForSelector('.firing')
  t.match(await page.title(), /^🔔/)
  t.equal(await page.evaluate('window.asked'), 0, 'no permission is asked for')
}

async function words(t: Test, { open, isKorean }: Look) {
  const answers: Answers = goodAnswers()
  const { page } = await open(t, answers, installClock)
  await page.waitForSelector(ROWS)
  t.match(
    await page.locator('footer').textContent(),
    isKorean ? /한국 시각 오전 9시\(UTC 0시\)에 시작/ : /All times are UTC/,
  )
  t.match(
    await page.locator('.summary > div:last-child dt').textContent(),
    isKorean ? /^갱신 · \d+(초|분) 전$/ : /^Updated · \d+ (sec|min) ago$/,
  )
  answers.list = 'not_ready'
  await page.clock.runFor(80_000)
  await page.waitForSelector('.trouble')
  t.match(
    await page.locator('.trouble').textContent(),
    isKorean
      ? /^서버가 응답하지 않아 \d+(초|분) 전 시세를 보여 드립니다\./
      : /^No answer from the API\. Prices are from \d\d:\d\d UTC \(\d+ (sec|min) ago\)\./,
  )
}

async function dayTable(t: Test, { show, isKorean, isPhone }: Look) {
  const page = await show('#/BTC')
  await page.waitForSelector(DAYS)
  const scroll = page.locator('.scroll')
  t.ok(await scroll.evaluate(box => box.scrollWidth <= box.clientWidth), 'nothing is cut off')
  const heads = await page.locator('.days thead th:visible').allTextContents()
  const [date, open_, close, average, range, minutes] = isKorean
    ? ['날짜(UTC)', '시가', '종가', '평균', '저가–고가', '기록(분)']
    : ['Date (UTC)', 'Open', 'Close', 'Average', 'Low – high', 'Minutes']
  t.strictSame(heads, [date, close, average, range, ...(isPhone ? [] : [open_]), minutes])
  const heights = await page
    .locator(DAYS)
    .evaluateAll(rows => rows.map(row => row.getBoundingClientRect().height))
  t.equal(new Set(heights.map(Math.round)).size, 1, 'running, partial and whole days alike')
  t.match((await textsOf(page, '.days .dot'))[2], isKorean ? /^집계 중, .* 기준/ : /^running, as of/)
}

async function order(t: Test, { show, good, isKorean, isPhone }: Look) {
  const page = await show()
  await page.waitForSelector(`${ROWS}[data-symbol=ETH] .change`)
  t.strictSame(
    await textsOf(page, '.coin strong'),
    good.list.data.map(({ symbol }) => symbol),
  )
  t.equal(await page.locator('[aria-sort]').count(), 0)
  const [, close] = good.histories.BTC?.data.slice(-3).map(({ close_pct }) => close_pct) ?? []
  const shown = Number(await page.locator('[data-symbol=BTC] .change data').getAttribute('value'))
  t.equal(shown, Math.round(10_000 * (1.2341 - (close ?? 0))) / 10_000)
  t.ok(await page.locator('[data-symbol=BTC] .change').isVisible())
  t.equal(await page.locator('.coins .rate, .coins .age').count(), 0, 'rate and age stand in the summary')
  await page.locator('.coins thead .premium button').click()
  t.equal((await textsOf(page, '.coin strong'))[0], 'DOGE')
  await page.getByRole('searchbox').fill(isKorean ? 'ㅇㄷㄹㅇ' : 'eth')
  t.strictSame(await textsOf(page, '.coin strong'), ['ETH'])
  if (isKorean) {
    await page.getByRole('searchbox').fill('ㅂㅌ')
    t.strictSame(await textsOf(page, '.coin strong'), ['BTC'])
  }
  t.equal(await page.locator('.coins tbody .gap').isVisible(), true, `on a ${isPhone ? 'phone' : 'desktop'}`)
}

async function manyCoins(t: Test, { open }: Look) {
  const good = goodAnswers()
  const data = Array.from({ length: 60 }, (_, index) => ({
    ...(good.list.data[0] as (typeof good.list.data)[number]),
    symbol: `C${index}`,
  }))
  const history = good.histories.BTC as History
  const histories = Object.fromEntries(data.map(({ symbol }) => [symbol, { ...history, symbol }]))
  const { page, asked } = await open(
    t,
    { list: { ...good.list, count: data.length, data }, histories },
    installClock,
  )
  await page.setViewportSize({ width: 1440, height: 3_000 })
  const daily = () => asked.filter(url => url.endsWith('/daily?days=2')).length
  await page.waitForSelector('.coins .change')
  await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 1_000)
  let seconds = 0
  const pass = async (more: number) => {
    await page.clock.runFor(more * 1_000)
    seconds += more
  }
  await pass(25)
  t.equal(daily(), 20)
  await pass(45)
  // The page draws by the clock, too.
  await eventually('more changes', async () => {
    await pass(1)
    return (await page.locator('.coins .change').count()) > 20 || undefined
  })
  t.ok(daily() <= 20 * Math.ceil(seconds / 60), `${daily()} in ${seconds} s`)
}

async function fewDays(t: Test, { show }: Look) {
  const page = await show('#/ETH')
  await page.waitForSelector('.canvas[data-style=candles]')
  // The chart is drawn in the frame after the table.
  await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
  const { width, candles } = await page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>('.canvas canvas')
    const { width, height } = canvas ?? { width: 0, height: 0 }
    const pixels = canvas?.getContext('2d')?.getImageData(0, 0, width, height).data ?? []
    /** Candles are the only things that stand in full colour a few pixels high. */
    const isCandle = (x: number) => {
      let count = 0
      for (let y = 0; y < height; y += 1) {
        const at = 4 * (y * width + x)
        const [r = 0, g = 0, b = 0] = [pixels[at], pixels[at + 1], pixels[at + 2]]
        if (pixels[at + 3] === 255 && Math.max(r, g, b) - Math.min(r, g, b) > 60) count += 1
      }
      return count > 3
    }
    const columns = Array.from({ length: width }, (_, x) => isCandle(x))
    const candles: { from: number; to: number }[] = []
    for (const [x, isOn] of columns.entries()) {
      if (isOn && !columns[x - 1]) candles.push({ from: x, to: x })
      else if (isOn) (candles.at(-1) ?? { to: 0 }).to = x
    }
    return { width, candles }
  })
  t.equal(candles.length, 8)
  t.ok((candles[0]?.from ?? width) < width / 8, 'from the left edge')
  t.ok((candles.at(-1)?.to ?? 0) > (7 * width) / 8, 'to the right')
  for (const { from, to } of candles) t.ok(to - from + 1 <= width / 10, `${to - from + 1} of ${width} px`)
}
