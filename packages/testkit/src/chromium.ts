import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import type { Teardown } from './teardown.ts'

export type { Browser, Page } from 'playwright-core'

/** The first takes two thirds of the others' processor time. */
const PROGRAMS = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']

/**
 * A container's root has no sandbox, and little shared memory; nothing but the page is to reach for the
 * network.
 */
const FLAGS = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Path of the first Chromium on PATH; undefined when there is none. */
export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(':')
  const candidates = folders.flatMap(folder => PROGRAMS.map(program => join(folder, program)))
  return candidates.find(candidate => existsSync(candidate))
}

/** Opens the system's Chromium without a window; torn down with the test. */
export async function openChromium(executablePath: string, t: Teardown): Promise<Browser> {
  const browser = await chromium.launch({ executablePath, args: FLAGS })
  t.teardown(() => browser.close())
  return browser
}
