import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

/** Runs those of TEST_FILES that no other process has claimed, one after another; run-tests.mjs starts it. */
const { TEST_FILES = '', TEST_CLAIMS = '' } = process.env
const timeoutMs = t.options.timeout ?? 0

for (const [index, file] of TEST_FILES.split(' ').entries()) {
  if (!claim(index)) continue
  const failedBefore = t.counts.fail
  await t.test(file, async () => {
    t.setTimeout(timeoutMs)
    await import(pathToFileURL(resolve(file)).href)
  })
  // tap runs it after the tests that the file has added, and so waits for them.
  await t.test(`end of ${file}`, async () => {})
  // A file that ends its process, or is ended, never comes here.
  if (t.counts.fail === failedBefore) writeFileSync(join(claimOf(index), 'passed'), '')
}

/** @param {number} index */
function claim(index) {
  try {
    mkdirSync(claimOf(index))
    return true
  } catch {
    return false
  }
}

/** @param {number} index */
function claimOf(index) {
  return join(TEST_CLAIMS, String(index))
}
