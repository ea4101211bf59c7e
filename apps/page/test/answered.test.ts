import { findChromium, openChromium } from '@kimchi/testkit/chromium'
import t from 'tap'
import { accessibility } from './accessibility.ts'
import { behaviours } from './behaviours.ts'
import { looks } from './looks.ts'
import { servePage } from './views.ts'

const program = findChromium()

t.test(
  'the page with answers as a test wants them',
  { skip: program === undefined && 'no chromium on PATH' },
  async t => {
    const base = await servePage(t)
    const browser = await openChromium(program ?? '', t)
    await t.test('what it does', t => behaviours(t, browser, base))
    await t.test('what a reader sees, on a phone and a desktop, in both languages', t =>
      looks(t, browser, base),
    )
    await t.test('no view has an accessibility violation or is wider than the screen', t =>
      accessibility(t, browser, base),
    )
  },
)
