#!/usr/bin/env node
/**
 * Makes the icons and the picture of shared links in public/ from favicon.svg, by the system's Chromium. Run
 * it when the sign or the words change.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findChromium, openChromium } from '@kimchi/testkit/chromium'

const PUBLIC = join(import.meta.dirname, '../public')
const ICONS = { 'icon-192.png': 192, 'icon-512.png': 512, 'apple-touch-icon.png': 180 }

const program = findChromium()
if (!program) throw new Error('no chromium on PATH')
const svg = await readFile(join(PUBLIC, 'favicon.svg'), 'utf8')
const browser = await openChromium(program)
for (const [file, size] of Object.entries(ICONS)) {
  // Systems round the corners themselves.
  const square = svg.replace(/ rx="\d+"/, '').replace('<svg ', `<svg width="${size}" height="${size}" `)
  await shoot(file, { width: size, height: size }, square)
}
await shoot(
  'og.png',
  { width: 1200, height: 630 },
  `<style>
    body { display: grid; place-content: center; justify-items: center; gap: 26px; height: 100vh;
      background: #14181f; color: #e8eaed; font: 600 76px Inter, "Noto Sans CJK KR", sans-serif }
    p { margin: 0; font-size: 34px; font-weight: 400; color: #9aa4b1 }
  </style>
  ${svg.replace('<svg ', '<svg width="150" height="150" ')}
  <div>김치 프리미엄 · Kimchi premium</div>
  <p>Upbit KRW ÷ (Binance USDT × USDT-KRW) − 1, 1분마다 · every minute</p>`,
)
await browser.close()

/** @param {string} file @param {{ width: number, height: number }} viewport @param {string} body */
async function shoot(file, viewport, body) {
  const page = await browser.newPage({ viewport })
  await page.setContent(`<!doctype html><style>body{margin:0}svg{display:block}</style>${body}`)
  await page.screenshot({ path: join(PUBLIC, file) })
  await page.close()
}
