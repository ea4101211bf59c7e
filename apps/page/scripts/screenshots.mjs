#!/usr/bin/env node
/**
 * Makes the pictures in docs/images: runs the demo on its own data and opens the page in the system's Chromium.
 * With the fonts Inter and Noto Sans CJK they look best.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '@kimchi/testkit'
import { findChromium, openChromium } from '@kimchi/testkit/chromium'

const ROOT = join(import.meta.dirname, '../../..')
const PICTURES = { 'table-desktop-light': 'en-US', 'table-desktop-light-ko': 'ko-KR' }

const program = findChromium()
if (!program) throw new Error('no chromium on PATH')
const dataDir = await mkdtemp(join(tmpdir(), 'kimchi-pictures-'))
const env = { DATA_DIR: dataDir, PORT: '0', PAGE_PORT: '0' }
const demo = startProgram(undefined, [join(ROOT, 'apps/local/dist/main.js'), 'demo'], env)
try {
  const address = await demo.line(line => line.startsWith('  Page '))
  await demo.line(line => line.startsWith('History from candles: 100'))
  const browser = await openChromium(program)
  for (const [name, locale] of Object.entries(PICTURES)) {
    const page = await browser.newPage({ locale, viewport: { width: 1440, height: 900 } })
    await page.goto(address.replace(/^ *Page +/, ''))
    await page.waitForSelector('.coins tbody tr:last-child .change')
    await page.screenshot({ path: join(ROOT, `docs/images/${name}.png`) })
  }
  await browser.close()
} finally {
  await demo.end()
  await rm(dataDir, { recursive: true, force: true })
}
