import { findChromium, openChromium } from '@kimchi/testkit/chromium'
import t from 'tap'
import { accessibility } from './accessibility.ts'
import { behaviours } from './behaviours.ts'
import { looks } from './looks.ts'
import { misread } from './misread.ts'
import { realApi } from './real-api.ts'
import { servePage } from './views.ts'

const program = findChromium()

t.test('the page in a browser', { skip: program === undefined && 'no chromium on PATH' }, async t => {
  const browser = await openChromium(program ?? '', t)
  t.jobs = 2
  await Promise.all([
    t.test('in front of the real API', { buffered: true }, t => realApi(t, browser)),
    t.test('with answers as a test wants them', { buffered: true }, async t => {
      const base = await servePage(t)
      await t.test('what it does', t => behaviours(t, browser, base))
      await t.test('what a reader sees', t => looks(t, browser, base))
      await t.test('what can’t be misread', t => misread(t, browser, base))
      await t.test('no view has an accessibility violation or is wider than the screen', t =>
        accessibility(t, browser, base),
      )
    }),
  ])
})
