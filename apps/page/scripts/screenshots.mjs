#!/usr/bin/env node
/**
 * Makes the pictures in docs/images: runs the demo on its own data, waits for a month of history (about five
 * minutes), and opens the page in the system's Chromium. With the fonts Inter and Noto Sans CJK they look best.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '@kimchi/testkit'
import { findChromium, openChromium } from '@kimchi/testkit/chromium'

const ROOT = join(import.meta.dirname, '../../..')
const IMAGES = join(ROOT, 'docs/images')
const SCREENS = {
  desktop: { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1 },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true },
}
const LOOKS = /** @type {const} */ ([
  { name: 'light', colorScheme: 'light', locale: 'en-US' },
  { name: 'dark', colorScheme: 'dark', locale: 'en-US' },
  { name: 'light-ko', colorScheme: 'light', locale: 'ko-KR' },
])
const VIEWS = { table: '', coin: '#/BTC' }
const DAYS = 30

/** On an emulated screen it has the pixels of the real one; without it the chart asks for devicePixelRatio. */
const SHARPEN = 'delete ResizeObserverEntry.prototype.devicePixelContentBoxSize'

const program = findChromium()
if (!program) throw new Error('no chromium on PATH')
const dataDir = await mkdtemp(join(tmpdir(), 'kimchi-pictures-'))
const demo = startProgram(undefined, [join(ROOT, 'apps/local/dist/main.js'), 'demo'], {
  DATA_DIR: dataDir,
  PORT: '0',
  PAGE_PORT: '0',
  BACKFILL_DAYS: String(DAYS),
  SAMPLE_RETENTION_DAYS: String(DAYS + 5),
})
try {
  const address = await demo.line(line => line.startsWith('  Page '))
  await demo.line(line => line.startsWith('History from candles: 100'))
  await mkdir(IMAGES, { recursive: true })
  const browser = await openChromium(program)
  for (const [screen, size] of Object.entries(SCREENS)) {
    for (const { name, ...look } of LOOKS) {
      const context = await browser.newContext({ ...size, ...look })
      await context.addInitScript(SHARPEN)
      for (const [view, hash] of Object.entries(VIEWS)) {
        const tab = await context.newPage()
        await tab.goto(`${address.replace(/^ *Page +/, '')}${hash}`)
        await tab.waitForSelector(hash ? '.days tbody tr' : '.coins tbody tr')
        // The chart is drawn in the frame after the table.
        await tab.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
        await tab.screenshot({ path: join(IMAGES, `${view}-${screen}-${name}.png`) })
      }
      await context.close()
    }
  }
  await browser.close()
} finally {
  await demo.end()
  await rm(dataDir, { recursive: true, force: true })
}
