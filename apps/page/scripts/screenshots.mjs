#!/usr/bin/env node
/**
 * Makes the pictures in docs/images: runs the demo on its own data, waits for a month of history (about five
 * minutes), and opens the page in the system's Chromium. With the fonts Inter and Noto Sans CJK they look best.
 */
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
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
const demo = spawn(process.execPath, [join(ROOT, 'apps/local/run.mjs'), 'demo'], {
  env: {
    ...process.env,
    DATA_DIR: dataDir,
    PORT: '0',
    PAGE_PORT: '0',
    BACKFILL_DAYS: String(DAYS),
    SAMPLE_RETENTION_DAYS: String(DAYS + 5),
  },
  stdio: ['ignore', 'pipe', 'inherit'],
})
const ended = new Promise(resolve => demo.once('exit', resolve))
try {
  const page = await untilFilled()
  await mkdir(IMAGES, { recursive: true })
  const browser = await openChromium(program)
  for (const [screen, size] of Object.entries(SCREENS)) {
    for (const { name, ...look } of LOOKS) {
      const context = await browser.newContext({ ...size, ...look })
      await context.addInitScript(SHARPEN)
      for (const [view, hash] of Object.entries(VIEWS)) {
        const tab = await context.newPage()
        await tab.goto(`${page}${hash}`)
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
  demo.kill('SIGTERM')
  await ended
  await rm(dataDir, { recursive: true, force: true })
}

/** Follows the demo until its history is complete. @returns {Promise<string>} the address of the page */
async function untilFilled() {
  let page = ''
  for await (const line of createInterface({ input: demo.stdout })) {
    process.stdout.write(`${line}\n`)
    if (line.startsWith('  Page ')) page = line.replace(/^ *Page +/, '')
    if (line.startsWith('History from candles: 100')) return page
  }
  throw new Error('the demo ended before its history was complete')
}
