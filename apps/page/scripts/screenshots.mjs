#!/usr/bin/env node
/**
 * Makes the pictures in docs/images: runs the demo on its own data and opens the page in the system's Chromium.
 * With the fonts Inter and Noto Sans CJK they look best.
 */
import { join } from 'node:path'
import { createFolder, startProgram, withTeardown } from '@kimchi/testkit'
import { findChromium, openChromium } from '@kimchi/testkit/chromium'

const ROOT = join(import.meta.dirname, '../../..')
const PICTURES = { 'table-desktop-light': 'en-US', 'table-desktop-light-ko': 'ko-KR' }

const program = findChromium()
if (!program) throw new Error('no chromium on PATH')
await withTeardown(async t => {
  const env = { DATA_DIR: await createFolder(t), PORT: '0', PAGE_PORT: '0' }
  const demo = startProgram(undefined, [join(ROOT, 'apps/local/dist/main.js'), 'demo'], env)
  t.teardown(() => demo.end())
  const address = await demo.line(line => line.startsWith('  Page '))
  const browser = await openChromium(program, t)
  for (const [name, locale] of Object.entries(PICTURES)) {
    const page = await browser.newPage({ locale, viewport: { width: 1440, height: 900 } })
    await page.goto(address.replace(/^ *Page +/, ''))
    // Yesterday is filled from candles within minutes.
    await page.waitForSelector('.coins tbody tr:last-child .change', { timeout: 600_000 })
    await page.screenshot({ path: join(ROOT, `docs/images/${name}.png`) })
  }
})
