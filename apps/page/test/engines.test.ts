import { eventually } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { type Answers, goodAnswers, withRows } from './answers.ts'
import type { Engine } from './engines/engine.ts'
import { lacksFirefox, openFirefox } from './engines/firefox.ts'
import { lacksWebKit, openWebKit } from './engines/webkit.ts'
import { addressWith, servePage } from './views.ts'

/** What engines may do differently; the rest is tested in Chromium alone. */
const TESTS: Readonly<Record<string, (t: Test, engine: Engine, base: string) => Promise<void>>> = {
  'writes numbers, times and ages as the others do, and no row is higher than the next': list,
  'the alert opens on the screen, closes when it is set, and stands in the title': alert,
  'draws a coin’s days, from edge to edge of a phone': coin,
}

for (const [name, open, skip] of [
  ['Firefox', openFirefox, lacksFirefox],
  ['WebKitGTK', openWebKit, lacksWebKit],
] as const) {
  t.test(name, { skip }, async t => {
    const engine = await open(t)
    const base = await servePage(t)
    for (const [title, run] of Object.entries(TESTS)) await t.test(title, t => run(t, engine, base))
  })
}

/** Opens the page as a device that remembers nothing, and waits for a row of the list or a day. */
async function show(engine: Engine, base: string, answers: Answers, { hash = '', width = 1200 } = {}) {
  await engine.resize(width)
  await engine.open(base)
  await engine.run('localStorage.clear()')
  await engine.open(`${addressWith(base, answers)}${hash}`)
  const rows = hash === '' ? '.coins tbody tr' : '.days tbody tr'
  await eventually(rows, () => engine.run<boolean>(`return document.querySelector('${rows}') !== null`))
}

const textOf = (engine: Engine, selector: string) =>
  engine.run<string>(`return document.querySelector('${selector}')?.textContent`)

/** How much wider the page is than its window. */
const overflow = (engine: Engine) =>
  engine.run<number>('return document.documentElement.scrollWidth - document.documentElement.clientWidth')

async function list(t: Test, engine: Engine, base: string) {
  const good = goodAnswers()
  const rows = good.list.data.map(() => ({ name: 'Artificial Superintelligence Alliance' }))
  await show(engine, base, withRows(good, rows), { width: 768 })
  await eventually('a change', () => engine.run<boolean>('return document.querySelector(".change") !== null'))
  t.equal(await textOf(engine, 'td.premium'), '+1.23%')
  t.equal(await textOf(engine, 'td.krw'), '143,500,000')
  t.equal(await textOf(engine, '[data-symbol=SOL] .premium'), '−0.25%')
  t.match(await textOf(engine, '.status .age'), /^Updated \d\d:\d\d UTC · \d+ (sec|min) ago$/)
  const heights = await engine.run<number[]>(
    'return [...document.querySelectorAll(".coins tbody tr")].map(row => row.clientHeight)',
  )
  t.ok(Math.max(...heights) < 45, `no name wraps: ${heights}`)
  t.equal(await overflow(engine), 0)
}

async function alert(t: Test, engine: Engine, base: string) {
  await show(engine, base, goodAnswers())
  await engine.run('document.querySelector(".alert > button").click()')
  const isOpen = () =>
    engine.run<boolean>('return document.querySelector(".alert form").matches(":popover-open")')
  t.ok(await isOpen())
  const margins = await engine.run<number[]>(`
    const { left, top, right, bottom } = document.querySelector('.alert form').getBoundingClientRect()
    return [left, top, innerWidth - right, innerHeight - bottom]
  `)
  t.ok(Math.min(...margins) > 50, `${margins} px from the edges`)
  await engine.run(`
    const form = document.querySelector('.alert form')
    form.elements.above.value = '0.5'
    form.requestSubmit()
  `)
  await eventually('the title', async () =>
    (await engine.run<string>('return document.title')).startsWith('🔔'),
  )
  t.notOk(await isOpen())
  t.equal(await textOf(engine, '.alert > button'), 'Alert ≥ 0.5%')
  t.equal(await textOf(engine, '.firing'), 'Alert: Median +0.89% (USDT, 0.5% or above)')
}

async function coin(t: Test, engine: Engine, base: string) {
  await show(engine, base, goodAnswers(), { hash: '#/BTC', width: 390 })
  await eventually('a chart', () =>
    engine.run<boolean>('return document.querySelector(".canvas canvas")?.clientWidth > 200'),
  )
  t.equal(await engine.run('return document.querySelectorAll(".days tbody tr").length'), 90)
  t.equal(await overflow(engine), 0)
  t.match(await engine.run('return document.title'), /^\+1\.23% · BTC/)
}
