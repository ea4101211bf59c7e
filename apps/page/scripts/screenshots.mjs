#!/usr/bin/env node
/**
 * Makes the pictures in docs/images: runs the demo on its own data, waits for a month of history (about five
 * minutes), and looks at the page with the system's Chromium. Fonts as the system has them; Inter and Noto
 * Sans CJK look best.
 */
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findChromium, openChromium } from '@kimchi/testkit/chromium'

const ROOT = join(import.meta.dirname, '../../..')
const IMAGES = join(ROOT, 'docs/images')
const SIZES = {
  desktop: { viewport: { width: 1180, height: 760 }, deviceScaleFactor: 1 },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true },
}
const VIEWS = { table: '', coin: '#/BTC' }
const DAYS = 30

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
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const size of /** @type {const} */ (['desktop', 'phone'])) {
      await shoot(browser, { page, size, colorScheme, locale: 'en-US', suffix: '' })
    }
  }
  for (const size of /** @type {const} */ (['desktop', 'phone'])) {
    await shoot(browser, { page, size, colorScheme: 'light', locale: 'ko-KR', suffix: '-ko' })
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
    if (line.startsWith('page ')) page = line.slice('page '.length)
    if (line.startsWith('History from candles: 100')) return page
  }
  throw new Error('the demo ended before its history was complete')
}

/**
 * @param {import('@kimchi/testkit/chromium').Browser} browser
 * @param {{ page: string, size: keyof typeof SIZES, colorScheme: 'light' | 'dark', locale: string, suffix:
 *   string }} how
 */
async function shoot(browser, { page, size, colorScheme, locale, suffix }) {
  for (const [view, hash] of Object.entries(VIEWS)) {
    const context = await browser.newContext({ ...SIZES[size], colorScheme, locale })
    const tab = await context.newPage()
    await tab.goto(`${page}${hash}`)
    await tab.waitForSelector(hash ? '.days tbody tr' : '.coins tbody tr')
    // The chart is drawn in the frame after the table.
    await tab.evaluate(
      () => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    )
    const file = `${view}-${size}-${colorScheme}${suffix}.png`
    await tab.screenshot({ path: join(IMAGES, file) })
    process.stdout.write(`${file}\n`)
    await context.close()
  }
}
