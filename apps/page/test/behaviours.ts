import { setTimeout as delay } from 'node:timers/promises'
import { eventually } from '@kimchi/testkit'
import type { Browser, Page } from '@kimchi/testkit/chromium'
import type { Test } from 'tap'
import { type Answers, goodAnswers, liveListOf, minuteAt } from './answers.ts'
import { type Open, testPages } from './views.ts'
import { fillForm, look } from './visit.ts'

const ROWS = '.coins tbody tr'
const DAYS = '.days tbody tr'

/** What the page does, whatever the screen. */
export async function behaviours(t: Test, browser: Browser, base: string): Promise<void> {
  await testPages(t, browser, base, {
    'sorts, searches and keeps favourites, also after a visit to a coin': lastingList,
    'speaks the browser’s language until somebody switches, with Korean names and times in Seoul': languages,
    // docs/faults.md, 75
    'says that the first values are being collected, and shows the list when it is there': firstSeconds,
    // docs/faults.md, 75
    'a coin’s days are shown as soon as they are there, stay while they can’t be read, and go with the coin':
      daysInTime,
    'an alert is in the title and a notification, also while the page is hidden': alerts,
    'another tab has the same alerts, and knows what has been told': twoTabs,
    'a bank’s rate adds a column to the list, and changes nothing else': bankRate,
    'a tap and the arrow keys choose a day of the chart': chosenDay,
    'a phone whose notifications can only throw is offered the title': phoneAlert,
    'while an age grows, the table is not drawn again': growingAge,
    'on a slow phone little moves while the page is loaded, on a first and a second visit': shifts,
    'asks once a minute, hidden or not, and at once when a device wakes': minutes,
  })
}

const symbols = (page: Page) => page.locator('.coin strong').allTextContents()

async function lastingList(t: Test, open: Open) {
  const { page } = await open(t, goodAnswers())
  const sorted = () =>
    page.locator('th[aria-sort]').evaluateAll(found => found.map(th => `${th.textContent} ${th.ariaSort}`))
  const search = page.getByRole('searchbox')
  const favourite = page.getByRole('button', { name: 'Favourite BTC' })
  await page.waitForSelector(ROWS)
  t.strictSame(await sorted(), [])
  await page.getByRole('button', { name: 'Coin', exact: true }).focus()
  await page.keyboard.press('Enter')
  t.strictSame(await sorted(), ['Coin↑ ascending'])
  t.strictSame(await symbols(page), ['ADA', 'AVAX', 'BTC', 'DOGE', 'DOT', 'ETH', 'LINK', 'SOL', 'TRX', 'XRP'])
  await search.fill('bit')
  t.strictSame(await symbols(page), ['BTC'])
  await page.getByRole('link', { name: 'BTC Bitcoin' }).click()
  await page.waitForSelector(DAYS)
  await page.getByRole('link', { name: 'All coins' }).click()
  await page.waitForSelector(ROWS)
  t.strictSame(await symbols(page), ['BTC'])
  t.equal(await search.inputValue(), 'bit')
  t.strictSame(await sorted(), ['Coin↑ ascending'])
  await favourite.click()
  await search.fill('')
  await page.getByRole('button', { name: 'Favourites', exact: true }).click()
  await page.reload()
  await page.waitForSelector(ROWS)
  t.strictSame(await symbols(page), ['BTC'], 'kept on the device')
  t.strictSame(await sorted(), ['Coin↑ ascending'], 'the sorting, too')
  await search.fill('eth')
  t.strictSame(await symbols(page), [], 'searched among favourites alone')
  await search.fill('')
  await page.getByRole('button', { name: 'Favourites', exact: true }).click()
  await page.getByRole('button', { name: 'Coin', exact: true }).click()
  t.strictSame(await sorted(), ['Coin↓ descending'])
  await page.getByRole('button', { name: 'Coin', exact: true }).click()
  t.strictSame(await sorted(), [], 'a third click gives the list’s own order back')
  t.strictSame((await symbols(page)).slice(0, 3), ['BTC', 'ETH', 'XRP'])
  await page.getByRole('button', { name: 'Favourites', exact: true }).click()
  await favourite.click()
  t.match(await page.locator('.empty').textContent(), 'No favourites yet')
}

async function languages(t: Test, open: Open) {
  const answers = goodAnswers()
  const { page } = await open(t, answers, { locale: 'ko-KR' })
  const heading = () => page.locator('.coins thead .premium').textContent()
  const colours = () =>
    page.evaluate(() =>
      ['--up', '--down'].map(name => getComputedStyle(document.documentElement).getPropertyValue(name)),
    )
  await page.waitForSelector(ROWS)
  t.match(await page.title(), '김치')
  t.equal(await heading(), '김프(USDT 기준)↕', 'the basis stands at the number')
  t.match(await page.locator('footer').textContent(), /USDT 기준.*KST.*한국 시각 오전 9시\(UTC 0시\)/)
  const seoul = new Date(Date.parse(`${answers.list.updated_at}Z`) + 9 * 3_600_000).toISOString()
  const age = page.locator('.status .age')
  t.match(await age.textContent(), new RegExp(`^갱신 ${seoul.slice(11, 16)} KST · \\d+(초|분) 전$`))
  await page.getByRole('searchbox').fill('ㅂㅌ')
  t.strictSame(await page.locator('.coin a').allTextContents(), ['BTC 비트코인'])
  const korean = await colours()
  await page.getByRole('button', { name: 'English' }).click()
  await page.waitForSelector('html[lang=en]')
  t.equal(await heading(), 'Premium (USDT)↕')
  t.match(await page.locator('footer').textContent(), /USDT basis.*UTC/)
  const english = await colours()
  t.equal(korean[0], english[1], 'red is up in Korean, down in English')
  t.not(korean[1], english[0], 'blue is down in Korean')
  await page.reload()
  await page.waitForSelector('.coins tbody tr')
  t.strictSame(
    await page.evaluate(() => [document.documentElement.lang, document.title.replace(/^\S+ /, '')]),
    ['en', 'Kimchi premium (USDT)'],
    'a choice stays',
  )
}

async function firstSeconds(t: Test, open: Open) {
  const good = goodAnswers()
  const answers: Answers = { ...good, list: 'not_ready' }
  const { page } = await open(t, answers, { clockFrom: Date.now() })
  await page.getByText('The API has no prices yet. Retrying automatically.').waitFor()
  t.equal(await page.locator('.trouble').count(), 0, 'nothing has failed')
  await page.evaluate("location.hash = '#/BTC'")
  await page
    .locator('.coin-view', { hasText: 'The API has no prices yet. Retrying automatically.' })
    .waitFor()
  answers.list = good.list
  await page.clock.runFor(7_000)
  await page.waitForSelector(DAYS)
  await page.getByRole('link', { name: 'All coins' }).click()
  t.equal(await page.locator(ROWS).count(), 10)
}

async function daysInTime(t: Test, open: Open) {
  const good = goodAnswers()
  const answers: Answers = { list: good.list, histories: {} }
  const { page } = await open(t, answers, { hash: '#/BTC', clockFrom: Date.now() })
  let minutes = 0
  const pass = async () => {
    minutes += 1
    answers.list = liveListOf(minuteAt(Date.now() + minutes * 60_000))
    await page.clock.fastForward(76_000)
  }
  await page.getByText('There is no history of BTC yet.').waitFor()
  answers.histories = good.histories
  await pass()
  await page.waitForSelector(DAYS)
  const history = '**/daily**'
  await page.route(history, route => route.fulfill({ status: 500, body: '' }))
  await pass()
  await page.getByText(/^The API answers with an error. This is the history as of .* UTC. Retrying/).waitFor()
  t.equal(await page.locator(DAYS).count(), 90)
  await page.unroute(history)
  answers.histories = {}
  await pass()
  await page.getByText('There is no history of BTC yet.').waitFor()
  t.equal(await page.locator(DAYS).count(), 0)
}

/** In place of the browser's own, which nobody can see in a test. */
const NOTIFICATIONS = `
  window.notified = []
  window.Notification = class {
    static permission = 'granted'
    static requestPermission = async () => 'granted'
    constructor(title, { tag }) { window.notified.push([title, tag]) }
  }
`

async function alerts(t: Test, open: Open) {
  const answers = goodAnswers()
  const { page, asked } = await open(t, answers, { clockFrom: Date.now(), script: NOTIFICATIONS })
  await page.waitForSelector(ROWS)
  await page.getByRole('link', { name: 'BTC Bitcoin' }).click()
  const opener = page.locator('.alert > button')
  const form = page.locator('.alert form')
  await opener.click()
  await page.getByRole('button', { name: 'Set' }).click()
  t.equal(await opener.textContent(), 'Alert', 'none without a bound')
  await opener.click()
  await page.keyboard.press('Escape')
  t.notOk(await form.isVisible(), 'Escape closes the form')
  await opener.click()
  await page.locator('h1').click()
  t.notOk(await form.isVisible(), 'so does a click beside it')
  await fillForm(page, 'alert', { above: '2', below: '-1' })
  t.notOk(await form.isVisible(), 'and so does setting')
  t.equal(await opener.textContent(), 'Alert ≥ 2% ≤ -1%')
  t.match(await page.title(), /^\+1\.23% · BTC/)
  await look(page, 'hidden')
  const list = liveListOf(minuteAt(Date.now() + 60_000))
  const data = list.data.map(coin => (coin.symbol === 'BTC' ? { ...coin, premium_pct: 2.5 } : coin))
  answers.list = { ...list, data }
  const before = asked.length
  await page.clock.fastForward(76_000)
  t.ok(asked.length > before, 'the page goes on asking while it is hidden')
  await page.waitForFunction(() => document.title.startsWith('🔔 BTC +2.50%'))
  t.strictSame(await page.evaluate('window.notified'), [['BTC +2.50% (USDT, 2% or above)', 'BTC above']])
  await page.reload()
  await page.waitForSelector('.firing')
  t.match(await page.locator('.firing').textContent(), 'BTC +2.50%', 'the device remembers it')
  t.strictSame(await page.evaluate('window.notified'), [], 'and that it was told')
  await page.getByRole('link', { name: 'All coins' }).click()
  await opener.click()
  t.match(await form.locator('li').allTextContents(), [/^BTC ≥ 2% ≤ -1%/], 'and the list has them all')
  await page.getByRole('button', { name: 'BTC: Remove' }).click()
  await page.waitForSelector('.firing', { state: 'detached' })
  t.equal(await form.locator('li').count(), 0)
}

async function bankRate(t: Test, open: Open) {
  const { page } = await open(t, goodAnswers(), { clockFrom: Date.now() })
  await page.waitForSelector(ROWS)
  t.equal(await page.locator('.coins .bank').count(), 0, 'off by default')
  const opener = page.locator('.bank > button')
  const enter = (rate: string) => fillForm(page, 'bank', { rate })
  await enter('5,001')
  t.equal(
    await page.locator('.bank [role=alert]').textContent(),
    'Bank rate: “5,001” is not a number from 500 to 5,000.',
  )
  await page.keyboard.press('Escape')
  t.equal(await page.locator('.coins .bank').count(), 0)
  await enter('1,420')
  t.equal(await page.locator('.coins thead .bank').textContent(), 'Bank rate basis 1,420')
  const btc = page.locator('[data-symbol=BTC]')
  t.strictSame(
    [await btc.locator('.premium').textContent(), await btc.locator('.bank').textContent()],
    ['+1.23%', '−0.19%'],
  )
  const note = page.locator('.summary .note', { hasText: 'ago' })
  t.match(await note.textContent(), /\d+ sec ago$/)
  t.match(await page.title(), /^\+0\.89% Kimchi premium \(USDT\)$/, 'nothing else changes')
  await page.reload()
  await page.waitForSelector('.coins tbody .bank .down')
  await page.clock.fastForward(25 * 3_600_000)
  await page.waitForSelector('.coins tbody .bank.stale')
  t.match(await note.textContent(), /old, 25 hr ago$/)
  t.equal(await page.locator('.bank.stale :is(.up, .down)').count(), 0, 'nothing old is coloured')
  await opener.click()
  await page.locator('.bank form').getByRole('button', { name: 'Remove' }).click()
  t.equal(await page.locator('.coins .bank').count(), 0)
}

async function twoTabs(t: Test, open: Open) {
  const { page } = await open(t, goodAnswers(), { script: NOTIFICATIONS })
  const set = (above: string) => fillForm(page, 'alert', { above })
  await page.waitForSelector(ROWS)
  await set('0.1')
  await page.waitForSelector('.firing')
  const opened = page.waitForEvent('popup')
  await page.evaluate('void window.open(location.href)')
  const other = await opened
  t.teardown(() => other.close())
  await other.waitForSelector('.firing')
  t.strictSame(await page.evaluate('window.notified'), [
    ['Median +0.89% (USDT, 0.1% or above)', 'median above'],
  ])
  t.strictSame(await other.evaluate('window.notified'), [], 'a tab that is opened later knows')
  await set('0.2')
  await other.getByText('(USDT, 0.2% or above)').waitFor()
}

async function chosenDay(t: Test, open: Open) {
  const answers = goodAnswers()
  const { BTC } = answers.histories
  if (!BTC) throw new Error('no history')
  // Of the last 30 dates 10 have no row: a hole in the middle of the chart.
  answers.histories = { BTC: { ...BTC, data: BTC.data.toSpliced(-20, 10) } }
  const { page } = await open(t, answers, { hash: '#/BTC/30', hasTouch: true })
  const legend = page.locator('.legend')
  const date = () => legend.locator('time').textContent()
  const canvas = page.locator('.canvas')
  const [today, before] = [BTC.data.at(-1), BTC.data.at(-2)]
  await page.waitForSelector('.canvas[data-style=candles]')
  t.equal(await date(), today?.date)
  t.match(await legend.textContent(), /runningOpen .*Average /)
  t.match(
    await page.locator('figcaption').textContent(),
    /^┄ Period average \+\d.\d\d% over every minute of the 20 days with data/,
  )
  const box = (await canvas.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
  await page.touchscreen.tap(box.x + 0.1 * box.width, box.y + box.height / 2)
  await eventually('an early day', async () => ((await date()) ?? '') < `${BTC.data.at(-21)?.date}`)
  const slider = page.getByRole('slider', { name: 'Day on the chart' })
  await slider.focus()
  await page.keyboard.press('End')
  await page.keyboard.press('ArrowLeft')
  t.equal(await date(), before?.date)
  t.match(await slider.getAttribute('aria-valuetext'), new RegExp(`^${before?.date}: Close .*%$`))
  for (let day = 0; day < 9; day += 1) await slider.press('ArrowLeft')
  t.match(await legend.textContent(), /no data/, 'the hole has a place')
  t.match(await slider.getAttribute('aria-valuetext'), /: no data$/)
}

/** A phone's constructor, which is there and can only throw. */
const UNUSABLE_NOTIFICATIONS = `
  window.asked = 0
  window.Notification = class {
    static permission = 'default'
    static async requestPermission() { window.asked += 1; return 'granted' }
    constructor() { throw new TypeError('Illegal constructor') }
  }
`

async function phoneAlert(t: Test, open: Open) {
  const { page } = await open(t, goodAnswers(), { script: UNUSABLE_NOTIFICATIONS })
  await fillForm(page, 'alert', { above: '0.1' })
  const hint = await page.locator('.alert .hint').textContent()
  t.match(hint, /cannot show.*tab’s title, without a sound/)
  await page.waitForSelector('.firing')
  t.match(await page.title(), /^🔔/)
  t.equal(await page.evaluate('window.asked'), 0, 'no permission is asked for')
}

/** Adds up how far the browser says that things have moved. */
const SHIFT = `
  window.shift = 0
  new PerformanceObserver(list => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shift += value
  }).observe({ type: 'layout-shift', buffered: true })
`
const LATENCY_MS = 400

async function shifts(t: Test, open: Open) {
  const { page } = await open(t, goodAnswers(), {
    script: SHIFT,
    prepare: async page => {
      await page.setViewportSize({ width: 390, height: 844 })
      await page.route('**/*', async route => {
        await delay(LATENCY_MS)
        await route.continue()
      })
    },
  })
  for (const visit of ['first', 'second']) {
    await page.waitForSelector(`${ROWS}[data-symbol=ETH] .change`)
    const shift = await page.evaluate<number>('window.shift')
    t.comment(`${visit} visit: ${shift.toFixed(3)}`)
    t.ok(shift <= 0.01, `${shift} on a ${visit} visit`)
    await page.reload()
  }
}

/** Counts the numbers that the page writes. */
const WRITTEN = `
  window.written = 0
  const { get } = Object.getOwnPropertyDescriptor(Intl.NumberFormat.prototype, 'format')
  Object.defineProperty(Intl.NumberFormat.prototype, 'format', {
    get() {
      window.written += 1
      return get.call(this)
    },
  })
`

async function growingAge(t: Test, open: Open) {
  // The page asks for no other list within a minute of this one.
  const answers: Answers = { ...goodAnswers(), list: liveListOf(new Date().toISOString().slice(0, 19)) }
  const { page } = await open(t, answers, { clockFrom: Date.now(), script: WRITTEN })
  await page.waitForSelector(`${ROWS} .change`)
  const age = () => page.locator('.status .age').textContent()
  await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 10_000)
  const [before, rows] = [await age(), await page.locator(ROWS).count()]
  // A slow browser may still hear of days when the clock stands.
  await eventually(`fewer numbers in five seconds than ${rows} coins have`, async () => {
    await page.evaluate('window.written = 0')
    await page.clock.runFor(5_100)
    return (await page.evaluate<number>('window.written')) < rows
  })
  t.not(await age(), before)
}

/** A service in the page, on the page's own clock: an answer takes none of its time. */
const SERVICE = `
  const list = ${JSON.stringify(liveListOf(''))}
  window.asked = 0
  window.fetch = async url => {
    if (!url.endsWith('/kimchi-premium')) return new Response('{}')
    window.asked += 1
    const published = Date.now() - 3_000
    const minute = new Date(published - (published % 60_000)).toISOString().slice(0, 19)
    const data = list.data.map(coin => ({ ...coin, snapshot_at: minute }))
    return Response.json({ ...list, updated_at: minute, data })
  }
`

async function minutes(t: Test, open: Open) {
  const start = Date.UTC(2026, 10, 21, 13, 5, 20)
  const { page } = await open(t, goodAnswers(), { clockFrom: start, script: SERVICE })
  const asked = () => page.evaluate<number>('window.asked')
  await page.waitForSelector('.coins tbody tr')
  // Later than a slow browser needs to come here, and before the next minute.
  await page.clock.pauseAt(start + 35_000)
  const before = await asked()
  await page.clock.runFor(600_000)
  t.equal((await asked()) - before, 10)
  await look(page, 'hidden')
  await page.clock.runFor(600_000)
  t.equal((await asked()) - before, 20, 'hidden as well')
  t.match(await page.title(), /^\+0\.89%/)
  await look(page, 'visible')
  await page.clock.runFor(1_000)
  t.equal((await asked()) - before, 20, 'none on return, as none is due')
  await look(page, 'hidden')
  await page.evaluate('{ const { now } = Date; Date.now = () => now() + 3_600_000 }')
  await look(page, 'visible')
  await page.clock.runFor(1_000)
  t.equal((await asked()) - before, 21, 'one after an hour in which timers stood still')
}
