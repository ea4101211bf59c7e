#!/usr/bin/env node
/**
 * Makes the pictures in docs/images: runs the demo on its own data and opens the page in the system's Chromium.
 * With the fonts Inter and Noto Sans CJK they look best. Committed are those that `pngquant 64` made of them.
 */
import { join } from 'node:path'
import { createFolder, startProgram, withTeardown } from '@kimchi/testkit'
import { findChromium, openChromium } from '@kimchi/testkit/chromium'

const ROOT = join(import.meta.dirname, '..')
const [DESKTOP, PHONE] = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
]
const LIST = '.coins tbody tr:last-child .change'
const COIN = '.canvas canvas'
/** @type {Record<string, { locale: string, viewport: { width: number, height: number }, hash?: string, shows: string }>} */
const PICTURES = {
  'table-desktop-light': { locale: 'en-US', viewport: DESKTOP, shows: LIST },
  'table-desktop-light-ko': { locale: 'ko-KR', viewport: DESKTOP, shows: LIST },
  'table-phone-light-ko': { locale: 'ko-KR', viewport: PHONE, shows: '.coins .change' },
  'coin-desktop-light-ko': { locale: 'ko-KR', viewport: DESKTOP, hash: '#/BTC/30', shows: COIN },
  'coin-phone-light-ko': { locale: 'ko-KR', viewport: PHONE, hash: '#/BTC/30', shows: COIN },
}

const program = findChromium()
if (!program) throw new Error('no chromium on PATH')
await withTeardown(async t => {
  const env = { DATA_DIR: await createFolder(t), PORT: '0', PAGE_PORT: '0' }
  const demo = startProgram(undefined, [join(ROOT, 'apps/local/dist/main.js'), 'demo'], env)
  t.teardown(() => demo.end())
  const address = await demo.line(line => line.startsWith('  Page '))
  const browser = await openChromium(program, t)
  for (const [name, { locale, viewport, hash = '', shows }] of Object.entries(PICTURES)) {
    const page = await browser.newPage({ locale, viewport })
    await page.goto(`${address.replace(/^ *Page +/, '')}${hash}`)
    // Yesterday is filled from candles within minutes.
    await page.waitForSelector(shows, { timeout: 600_000 })
    await page.screenshot({ path: join(ROOT, `docs/images/${name}.png`) })
  }
})
