import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

/** Runs the files of TEST_FILES in this process, one after another; run-tests.mjs starts it. */
const files = (process.env.TEST_FILES ?? '').split(' ')
const timeoutMs = t.options.timeout ?? 0

let begun = 0
process.once('exit', () => {
  if (begun < files.length) process.exitCode = 1
})
for (const file of files) {
  // A test that is added meanwhile comes after this one, and before the next file.
  await t.test(file, async () => {
    begun += 1
    t.setTimeout(timeoutMs)
    await import(pathToFileURL(resolve(file)).href)
  })
}
